#pragma once
// The NUMA nodes of the machine, and the cores near a thread.
//
//   const CoreSet near = coresNear(allowed, numaNodes(), coreSet(), 4);   // for four threads that work together

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/device/host_device.h"

namespace xylem::device {

// The numbers of a list as the kernel writes it, such as "0-3,8". Leaves out numbers that a set of cores cannot have.
CoreSet coresOfList(std::string_view list);

// The cores of each NUMA node that has some; empty where the kernel tells no nodes. `root`: where /sys is.
std::vector<CoreSet> numaNodes(const std::filesystem::path& root = "/");

// The cores of `allowed` on the node that has all cores of `caller`, if they are at least as many as `threads`; otherwise all of `allowed`. A
// caller that may run on several nodes may be moved: the threads of several ranks that were near it would then stay together on one.
CoreSet coresNear(const CoreSet& allowed, std::span<const CoreSet> nodes, const CoreSet& caller, int threads);

}  // namespace xylem::device
