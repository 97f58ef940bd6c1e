#pragma once
// The ranks of the job: the first of the values that joining makes (JobRoster -> CommPlan -> Wiring ->
// Issuer), from what all ranks tell each other in their first all-gather.
//
//   const JobRoster roster = gatherRoster(bootstrap, request);
//   roster.peers[3].peer.hostHash
//   roster.hosts.localRank

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/join/join_steps.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/gpu/driver.h"

namespace xylem::comm {

struct JobRoster {
  int rank = 0;
  std::vector<PeerInfo> peers;     // by rank
  HostMap hosts;                   // as seen from this rank
  std::vector<HostCores> cores;    // by host
  std::uint64_t communicator = 0;  // the same on all ranks, and on no other communicator
  bool checked = false;            // any rank has XYLEM_CHECK=1: all ranks compare their calls

  int ranks() const { return static_cast<int>(peers.size()); }
  const PeerInfo& self() const { return peers[static_cast<std::size_t>(rank)]; }
  // The cores of this rank's host.
  const HostCores& ownCores() const {
    return cores[static_cast<std::size_t>(hosts.hostOfRank[static_cast<std::size_t>(rank)])];
  }
  // How many ranks use this rank's GPU, if it has one.
  int ranksOnGpu() const { return ranksOnGpuOf(rank); }
  int ranksOnGpuOf(int other) const;
  bool hasGpus() const { return anyGpu(peers); }  // any rank
  // Size of a queue in bytes: the smallest that a rank asks for, and between GPUs of one host less, so that the slots of all channels
  // stay in the second cache of a GPU.
  std::uint64_t bufferBytes() const;
};

// The number of the communicator whose ranks share `secret`. It tells nothing about the secret.
std::uint64_t communicatorId(const sockets::Secret& secret);

// The roster of `rank`, from the messages of all ranks. Throws if their versions differ.
JobRoster rosterOf(int rank, std::vector<PeerInfo> peers);

// A sentence about ranks of one host that listen at different interfaces, which other hosts may not reach alike; empty if
// all listen at the same. `addresses`: of `ranks`, in their order.
std::string differingInterfaces(const std::vector<int>& ranks,
                                const std::vector<sockets::SocketAddress>& addresses);

// All ranks call it at the same time. `gpu`: of this rank; null: its device is a host device. Throws if ranks use one GPU that may not share it.
JobRoster gatherRoster(bootstrap::Bootstrap& bootstrap, const JoinRequest& request,
                       const gpu::DeviceFacts* gpu);

}  // namespace xylem::comm
