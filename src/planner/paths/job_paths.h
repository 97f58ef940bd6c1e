#pragma once
// The stage as a whole: from a host's graph to the part of it that a rank uses, with the paths in it.
//
//   std::vector<int> domain = domains(system, options);         // GPUs that reach each other, by GPU index
//   HostPaths host = pathsOfDomain(system, domain, domain[0], jobSize, options);
//
// The paths of the base search are adjusted to those that work at run time: GPUs without direct access meet
// in the memory of a CPU, a GPU may send through another GPU's NIC (PXN), NICs without access to GPU memory
// go through host memory. GPUs that have no better way to each other than the network belong to different domains; each
// rank plans for its own domain.

#include <vector>

#include "planner/paths/path_table.h"
#include "planner/paths/reach.h"

namespace xylem::paths {

struct HostPaths {
  topology::System system;
  PathTable paths;
  std::vector<Decision> decisions;  // in the order in which they were made
};

// The base search and all adjustments, on the whole graph. Appends the decisions to `decisions` unless it is
// null.
PathTable findUsablePaths(const topology::System& system, const ReachOptions& options,
                          std::vector<Decision>* decisions = nullptr);

// The domain of each GPU: the lowest index of a GPU that it reaches by something better than the network.
std::vector<int> domains(const topology::System& system, const ReachOptions& options);

// The graph without the GPUs of other domains, and without NETs if the domain holds the whole job of
// `jobSize` ranks; with its paths and, if asked for, the decisions about them.
HostPaths pathsOfDomain(const topology::System& system, const std::vector<int>& domain, int which,
                        int jobSize, const ReachOptions& options, bool withDecisions = true);

// The most that a GPU can send over its wires, in GB/s: over its PCI link, or over its NVLinks together.
float sendBandwidth(const topology::System& system, topology::NodeId gpu);

// The best and the worst path type from any GPU to any other node of `type`.
PathType bestType(const topology::System& system, const PathTable& paths, topology::NodeType type);
PathType worstType(const topology::System& system, const PathTable& paths, topology::NodeType type);

}  // namespace xylem::paths
