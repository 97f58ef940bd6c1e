#pragma once
// The reach rules: whether two ends may move data by direct access (P2P), shared memory, GPU Direct RDMA or
// another GPU's NIC (PXN). Each answer is a Decision with its reason.
//
//   Reach reach(system, paths, locality, ReachOptions::from(settings, rules));
//   Decision d = reach.p2p(gpu0, gpu5);
//
// The rules assume one process per rank, one /dev/shm for all ranks of a host, and a driver that allows
// direct access between every pair of GPUs.

#include <optional>

#include "planner/paths/decision.h"
#include "planner/paths/locality.h"
#include "planner/paths/path_table.h"

namespace xylem {
class Settings;
}
namespace xylem::paths {

enum class Direction { kReceive, kSend };

// The settings that the rules depend on.
struct ReachOptions {
  std::optional<PathType> p2pLevel;  // NCCL_P2P_DISABLE, NCCL_P2P_LEVEL
  Setting p2pVariable = Setting::kP2pLevel;
  std::optional<PathType> gdrLevel;  // NCCL_NET_GDR_LEVEL
  std::optional<bool> gdrC2c;        // NCCL_NET_GDR_C2C; unset: as the rules have it
  std::optional<bool> pxnC2c;        // NCCL_PXN_C2C; likewise
  int gdrRead = -2;                  // NCCL_NET_GDR_READ: negative decides by architecture
  bool shmDisable = false;
  bool pxnDisable = false;
  bool nvbDisable = false;
  bool netDisableIntra = false;
  bool forceFlush = false;   // NCCL_NET_FORCE_FLUSH
  bool gdrOfParts = false;   // NCCL_NET_GDR_MLOPART
  bool copyEngines = false;  // NCCL_P2P_USE_CUDA_MEMCPY

  static ReachOptions from(const Settings& settings, const rules::RuleSet& rules);
};

class Reach {
 public:
  Reach(const topology::System& system, const PathTable& paths, const Locality& locality,
        const ReachOptions& options)
      : system_(system), paths_(paths), locality_(locality), options_(options) {}

  // May a access b's memory directly? `relay` is the GPU between them, if the path has one.
  Decision p2p(topology::NodeId a, topology::NodeId b) const;
  // Returns whether the receiver reads the sender's memory in transfers between a and b, instead of the
  // sender writing.
  bool p2pRead(topology::NodeId a, topology::NodeId b) const;
  // Do both reach a NIC with more bandwidth than each other?
  Decision netIsBetter(topology::NodeId a, topology::NodeId b) const;
  // Does the P2P transport (the SHM transport) accept the pair?
  Decision transportP2p(topology::NodeId a, topology::NodeId b) const { return transportP2p(p2p(a, b)); }
  Decision transportP2p(Decision direct) const;  // `direct`: the result of p2p
  Decision transportShm(topology::NodeId a, topology::NodeId b) const;
  // May the NIC access the GPU's memory directly?
  Decision gdr(topology::NodeId gpu, topology::NodeId net, Direction direction) const;
  // Returns whether GPU Direct RDMA, where the decision allows it, must go over PCI although the GPU has a chip-to-chip link.
  bool gdrOverPci(const Decision& gdr) const;
  // Must the receiver flush what the NIC has written into the GPU's memory before it reads it? Matters with GPU Direct RDMA.
  Decision flush(topology::NodeId gpu, topology::NodeId net) const;
  // The farthest path from a relay of PXN to its NIC.
  PathType farthestRelayNet() const;
  // Should the GPU send to the NIC through another GPU?
  Decision pxn(topology::NodeId gpu, topology::NodeId net) const;
  // The GPU that hands data to the NIC: the relay of a PXN path, else the GPU itself. Throws if the path to
  // the relay does not lead to a GPU.
  topology::NodeId proxyGpu(topology::NodeId gpu, topology::NodeId net) const;

 private:
  topology::NodeId firstPart(topology::NodeId gpu) const;
  bool isOnC2c(topology::NodeId gpu) const;
  topology::NodeId relayOf(topology::NodeId a, topology::NodeId b) const;
  bool hasNvlinkNeighbour(topology::NodeId gpu) const;
  float bestNetBandwidth(topology::NodeId gpu) const;

  const topology::System& system_;
  const PathTable& paths_;
  const Locality& locality_;
  const ReachOptions& options_;
};

}  // namespace xylem::paths
