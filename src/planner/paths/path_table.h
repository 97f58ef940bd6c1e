#pragma once
// The paths of a machine: for every pair of endpoints (GPUs, NVSwitches, CPUs, NETs) the links that data
// takes between them.
//
//   PathTable paths = findPaths(system, /*allowNvb=*/true);
//   const Path& path = paths.path(gpu0, net1);     // type, bandwidth in GB/s, number of links
//   for (LinkId link : paths.links(path)) ...
//
// PCI switches and NICs are never endpoints, so they have no rows.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "planner/topology/system.h"

namespace xylem::paths {

// How far apart two nodes are: the kind of the worst link between them. Smaller is better.
enum class PathType : std::uint8_t {
  kLoc = 0,   // the node itself
  kNvl = 1,   // NVLinks only (and chip-to-chip links, where the rules do not tell them apart)
  kNvb = 2,   // NVLinks through another GPU
  kC2c = 3,   // chip-to-chip links
  kPix = 4,   // at most one PCI switch
  kPxb = 5,   // several PCI switches, but no CPU
  kP2c = 6,   // to a NIC behind the CPU at the other end of a chip-to-chip link
  kPxn = 7,   // to a NIC through another GPU
  kPhb = 8,   // through a CPU
  kSys = 9,   // across CPUs
  kNet = 10,  // only over the network
  kDis = 11,  // not at all
};
constexpr int kPathTypes = 12;

const char* name(PathType type);  // `PIX`
std::optional<PathType> parsePathType(std::string_view text);
// Returns whether the rules know this type.
bool knowsType(PathType type, const rules::RuleSet& rules);
// The next farther type that the rules know.
PathType nextType(PathType type, const rules::RuleSet& rules);
// The number that NCCL's messages show for a type.
int typeNumber(PathType type, const rules::RuleSet& rules);
// The type of two paths of these types, one after the other: the farther one, but P2C for PHB behind C2C.
PathType joinedType(PathType a, PathType b, const rules::RuleSet& rules);

// The value of NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL: the name of a path type up to SYS, or one of NCCL's old
// digits. Returns nullopt, no override, for any other text, and for names that the rules do not know.
std::optional<PathType> parseLevel(std::string_view text, const rules::RuleSet& rules);

struct Path {
  PathType type = PathType::kDis;
  float bandwidth = 0;     // GB/s; 0 without a path
  std::int32_t hops = 0;   // number of links
  std::int32_t first = 0;  // into the table's pool of links
};

class PathTable {
 public:
  PathTable() = default;
  explicit PathTable(const topology::System& system);

  const Path& path(topology::NodeId from, topology::NodeId to) const { return paths_[cell(from, to)]; }
  std::span<const topology::LinkId> links(const Path& path) const {
    return std::span(pool_).subspan(static_cast<std::size_t>(path.first),
                                    static_cast<std::size_t>(path.hops));
  }
  std::span<const topology::LinkId> links(topology::NodeId from, topology::NodeId to) const {
    return links(path(from, to));
  }

  // Starts a new path without links; append() adds its links one after the other.
  Path& start(topology::NodeId from, topology::NodeId to, PathType type, float bandwidth) {
    return paths_[cell(from, to)] = {type, bandwidth, 0, static_cast<std::int32_t>(pool_.size())};
  }
  void append(Path& newest, topology::LinkId link) {
    pool_.push_back(link);
    ++newest.hops;
  }
  // Makes the path to `to` a copy of the path to `model` with another last link.
  void startLike(topology::NodeId from, topology::NodeId model, topology::NodeId to, topology::LinkId last) {
    const Path like = path(from, model);
    paths_[cell(from, to)] = {like.type, like.bandwidth, like.hops, static_cast<std::int32_t>(pool_.size())};
    if (like.hops == 0) return;
    for (std::int32_t i = like.first; i + 1 < like.first + like.hops; ++i)
      pool_.push_back(pool_[static_cast<std::size_t>(i)]);
    pool_.push_back(last);
  }
  void setType(topology::NodeId from, topology::NodeId to, PathType type) {
    paths_[cell(from, to)].type = type;
  }
  // Replaces the path by the two paths from -> through -> to. It gets the lower bandwidth and the worse type
  // of the two, or PXN if `through` is a GPU.
  void detour(const topology::System& system, topology::NodeId from, topology::NodeId through,
              topology::NodeId to);

  // The bandwidth of the machine's wires, GPUs included that the job does not use; GB/s. Set if the rules start searches
  // from it.
  struct Wires {
    float toNets = 0, toGpus = 0;  // the widest path of any GPU
    float total = 0;               // the most that any GPU can send
  };
  std::optional<Wires> wires;

  bool isEndpoint(topology::NodeId node) const { return endpoint_[static_cast<std::size_t>(node)] >= 0; }

 private:
  std::size_t cell(topology::NodeId from, topology::NodeId to) const {
    return static_cast<std::size_t>(endpoint_[static_cast<std::size_t>(from)]) * endpoints_ +
           static_cast<std::size_t>(endpoint_[static_cast<std::size_t>(to)]);
  }

  std::vector<std::int32_t> endpoint_;  // by node: its row, or -1
  std::size_t endpoints_ = 0;
  std::vector<Path> paths_;
  std::vector<topology::LinkId> pool_;
};

// NCCL's log lines about the paths: one per GPU and NET, with hops, bandwidth and type to every endpoint. `plain`: the paths of
// the base search, which newer versions show for the devices of GPUs; null where they show none.
std::vector<LogLine> pathLines(const topology::System& system, const PathTable& paths,
                               const PathTable* plain);
// The links of a path from one node to another, as versions count them that tell devices from their ranks: one more at each
// GPU, and two at a relay. A further rank of a GPU has that link in any case.
int hopsThroughDevices(const topology::System& system, const Path& path, topology::NodeId from,
                       topology::NodeId to);

}  // namespace xylem::paths
