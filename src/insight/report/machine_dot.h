#pragma once
// The machine as a graph in Graphviz's DOT language, for other layouts than ours: `dot -Tsvg machine.dot`.

#include <string>

#include "insight/report/picture.h"

namespace xylem {

std::string machineDot(const HostPicture& host);

}  // namespace xylem
