#pragma once
// The element types and reductions that collectives work on. The planner's choice depends on them too, so
// they live in the core.

#include "core/data_type.h"
