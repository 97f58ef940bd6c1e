#pragma once
// How far apart two nodes are: the kind of the worst link between them. Smaller is better.

#include <cstdint>
#include <optional>
#include <string_view>

namespace xylem {

enum class PathType : std::uint8_t {
  kLoc = 0,  // the node itself
  kNvl = 1,  // NVLinks (or c2c) only
  kNvb = 2,  // NVLinks through another GPU
  kPix = 3,  // at most one PCI switch
  kPxb = 4,  // several PCI switches, not the CPU
  kPxn = 5,  // to a NIC through another GPU
  kPhb = 6,  // through a CPU
  kSys = 7,  // across CPUs
  kNet = 8,  // only over the network
  kDis = 9,  // not at all
};
constexpr int kPathTypes = 10;

const char* name(PathType type);
std::optional<PathType> parsePathType(std::string_view text);

// The level of NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL: a path type's name, or NCCL's old digits. nullopt: no
// override.
std::optional<PathType> parseLevel(std::string_view text);

}  // namespace xylem
