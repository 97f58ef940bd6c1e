#pragma once
// From what the ranks tell each other to the plan of their job: each describes its host and its own device,
// the first rank of a host fuses these descriptions and searches the host's channels, what it has found is
// told to all ranks, and each of them plans the whole, with the same outcome.
//
//   JobHosts hosts = describeHosts(bootstrap, peers, settings, {device, name, {}});
//   Plan plan = planOf(hosts, settings);
//   checkSamePlan(hashes);   // of all ranks' plans

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/join/networks.h"
#include "runtime/comm/join/peer_info.h"
#include "planner/plan/plan.h"
#include "planner/topology/detect_net_device.h"

namespace xylem {

struct JobHosts {
  Neighbourhood neighbourhood;
  // By host; hosts that are alike share one.
  std::vector<std::shared_ptr<const Document>> descriptions;
  // What was found on each; null where this rank has to search.
  std::vector<std::shared_ptr<const std::vector<HostGraphs>>> searched;
  std::uint64_t busId = 0;  // of this rank's device
  bool collnet = false;     // all have a network that reduces
};

// What this rank computes on and what it sends through.
struct RankDevices {
  int device = 0;
  NetworkName network{};
  std::optional<std::vector<NetDevice>> networks;  // nothing: the interfaces
};

// Throws if two ranks have one GPU.
JobHosts describeHosts(Bootstrap& bootstrap, std::span<const PeerInfo> peers, const Settings& settings,
                       const RankDevices& devices);

// `decisions`: keep those on paths, for the log.
Plan planOf(const JobHosts& hosts, const Settings& settings, bool decisions = true);

// Of all in a plan that has to be the same on all ranks for data to arrive.
std::uint64_t hashOf(const Plan& plan);
// Throws if the ranks did not come to the same plan; they differ if their settings do.
void checkSamePlan(std::span<const std::uint64_t> hashes);

}  // namespace xylem
