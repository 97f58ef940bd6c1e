#pragma once
// A copy of what detection reads of a machine, to be looked at elsewhere: a folder with the few files of /sys
// and /proc that matter and, beside them, the facts about its GPUs.
//
//   captureMachine("/", gpuSourceOf("/")->read().gpus, "node7");      // on node7
//   detectTopology({.root = "node7", .gpus = …});                     // anywhere
//
// Besides the hardware it holds the host's name and boot id, which make the host's hash.

#include <filesystem>
#include <span>

#include "planner/topology/detect_gpu_source.h"

namespace xylem {

// Throws Error if `folder` holds something already or cannot be written.
void captureMachine(const std::filesystem::path& root, std::span<const GpuFacts> gpus,
                    const std::filesystem::path& folder);

}  // namespace xylem
