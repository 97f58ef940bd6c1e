#pragma once
// How far apart the GPUs and NETs of a machine are, as a matrix of path types with a legend.
//
//   writeOut(pathMatrix(system, paths, Quantity::kType, terminalOf(stdout)));
//
//         GPU0  GPU1  NET0  near CPU
//   GPU0     X   NVL   PIX  0 (0-15)
//   GPU1   NVL     X   SYS  1 (16-31)
//   NET0   PIX   SYS     X  0 (0-15)

#include <string>

#include "cli/terminal.h"
#include "planner/paths/path_table.h"

namespace xylem::cli {

enum class Quantity { kType, kBandwidth };

// A machine with very many GPUs and NETs gets a count of its pairs by type instead.
std::string pathMatrix(const System& system, const PathTable& paths, Quantity quantity,
                       const Terminal& screen);

// What the types that occur in this machine mean.
std::string pathLegend(const System& system, const PathTable& paths, const Terminal& screen);

}  // namespace xylem::cli
