#pragma once
// Copies the input of detection on a machine into a folder, so that it can be replayed elsewhere: the few
// files of /sys and /proc that matter and, beside them, the facts about the machine's GPUs and RDMA devices.
//
//   captureMachine("/", gpuSourceOf("/")->read().gpus, rdmaFactsOf("/")->read(), "node7");   // on node7
//   const auto gpus = gpuSourceOf("node7");                        // anywhere
//   detectTopology({.root = "node7", .gpus = gpus.get()});
//
// The folder also holds the host's name and boot id, from which the host's hash is computed.

#include <filesystem>
#include <span>

#include "planner/topology/detect_gpus.h"
#include "planner/topology/detect_verbs.h"

namespace xylem::topology {

// Throws Error if `folder` is not empty or cannot be written.
void captureMachine(const std::filesystem::path& root, std::span<const GpuFacts> gpus,
                    std::span<const RdmaFacts> rdma, const std::filesystem::path& folder);

}  // namespace xylem::topology
