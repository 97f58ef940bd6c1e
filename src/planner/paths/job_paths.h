#pragma once
// The whole stage: from a host's graph to the part of it one rank uses and the paths in it.
//
//   std::vector<int> domain = domains(system, options);         // GPUs that reach each other, by GPU index
//   HostPaths host = pathsOfDomain(system, domain, domain[0], jobSize, options);
//
// Base paths are adjusted for what is usable at run time: GPUs without direct access meet in the memory of a
// CPU, a GPU may send through another one's NIC (PXN), NICs without access to GPU memory go through host
// memory. GPUs that reach each other only over the network are split into domains; each rank plans for its
// own.

#include <vector>

#include "planner/paths/path_table.h"
#include "planner/paths/reach.h"

namespace xylem {

struct HostPaths {
  System system;
  PathTable paths;
  std::vector<Decision> decisions;  // in the order in which they were made
};

// Base search plus all adjustments, on the whole graph. Decisions are appended if asked for.
PathTable findUsablePaths(const System& system, const ReachOptions& options,
                          std::vector<Decision>* decisions = nullptr);

// For each GPU the lowest GPU index it is joined to by anything better than the network.
std::vector<int> domains(const System& system, const ReachOptions& options);

// The graph without the GPUs of other domains (and without NETs if the domain holds the whole job), with its
// paths and, if asked for, the decisions on them.
HostPaths pathsOfDomain(const System& system, const std::vector<int>& domain, int which, int jobSize,
                        const ReachOptions& options, bool withDecisions = true);

// The best and the worst path type from any GPU to any node of `type` (other than itself).
PathType bestType(const System& system, const PathTable& paths, NodeType type);
PathType worstType(const System& system, const PathTable& paths, NodeType type);

}  // namespace xylem
