#pragma once
#include <span>
#include "topology/document.h"
namespace xylem {
Document describeAsRanksWould(const Document& host, std::span<const int> gpus);
}
