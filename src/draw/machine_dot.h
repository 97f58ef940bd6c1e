#pragma once
// The machine as a graph in Graphviz's DOT language, for other layouts than ours: `dot -Tsvg machine.dot`.

#include <string>

#include "draw/picture.h"

namespace xylem {

std::string machineDot(const HostPicture& host);

}  // namespace xylem
