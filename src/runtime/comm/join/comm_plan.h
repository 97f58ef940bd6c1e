#pragma once
// The second of the values that joining makes: the plan of the whole job, and the part of it that concerns
// this rank. Each rank describes its host and its own device; the first rank of a host fuses
// these descriptions and searches the host's channels; all ranks learn the result of every host, and each
// plans the whole job, with the same outcome.
//
//   const CommPlan plan = planComm(steps, bootstrap, roster, request);
//   plan.plan.connections.nChannels()
//   checkSamePlan(hashes);              // hashOf() the plans of all ranks

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "planner/connect/net_choice.h"
#include "planner/plan/plan.h"
#include "planner/topology/detect_net.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/join/host_copies.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/comm/join/links.h"
#include "runtime/comm/join/network_choice.h"
#include "runtime/gpu/driver.h"

namespace xylem::comm {

// The devices that a plan is for, and a network that it may use.
struct JobOffers {
  bool collnet = false;  // every rank has a network that reduces
  bool gpus = false;     // some rank is on a GPU
};

// The hosts of the job as all ranks know them before they plan.
struct DescribedHosts {
  std::vector<int> hostOfRank;
  // By host; equal hosts share one.
  std::vector<std::shared_ptr<const topology::Document>> descriptions;
  // The channels found on each host; null where this rank has to search itself.
  std::vector<std::shared_ptr<const std::vector<search::HostGraphs>>> searched;
  std::uint64_t busId = 0;  // of this rank's device
  HostCopies copies;        // within this rank's host
  JobOffers offers;
};

// The device that this rank computes on, and the network devices that it sends through.
struct RankDevices {
  int device = 0;
  NetworkName network{};
  std::optional<std::vector<topology::NetDevice>> networks;  // nothing: the interfaces
  std::string gpu{};                                         // the GPU's bus id; empty: a host device
};

// All ranks call it at the same time. Throws if two ranks have one GPU.
DescribedHosts describeHosts(JoinSteps& steps, bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
                             const Settings& settings, const RankDevices& devices);

// `decisions`: keep those on paths, for the log.
plan::Plan planOf(const DescribedHosts& hosts, const Settings& settings, bool decisions = true);

// A hash of everything in a plan that must be the same on all ranks for data to arrive.
std::uint64_t hashOf(const plan::Plan& plan);
// Throws if the ranks made different plans, as they do if their settings differ.
void checkSamePlan(std::span<const std::uint64_t> hashes);

struct CommPlan {
  // The last three: as `channels`, `copies` and `copyThreads`.
  CommPlan(std::span<const PeerInfo> peers, int rank, plan::Plan job, std::uint64_t device, int channelsInUse,
           HostCopies within, int threads);
  CommPlan(const CommPlan&) = delete;  // `choice` refers to `plan`
  CommPlan& operator=(const CommPlan&) = delete;

  const plan::Plan plan;
  const connect::NetChoice choice;  // the transport and NIC of each pair of ranks
  const std::uint64_t busId;        // of this rank's device
  const HostCopies copies;          // how data moves within this rank's host
  const int copyThreads;            // that copy and reduce this rank's data there
  const int channels;               // those that collectives use, of the plan's
  const LinkScope scope;
  const LinkPlan links;  // the queues that this rank's collectives need
};

// The settings by which ranks plan. LL128 needs stores of 128 bytes that arrive as a whole. The plan uses it on GPUs where NCCL does: it
// supposes that these GPUs reach each other's memory. If NCCL_P2P_DISABLE or NCCL_P2P_LEVEL may forbid that, the plan does
// without LL128, unless NCCL_PROTO asks for it.
Settings settingsForPlan(const Settings& settings, bool onGpus);
Settings withoutUnaskedLl128(const Settings& settings);

// Describes the hosts, plans the job and logs the plan. All ranks call it at the same time. `gpu`: null if the device is a host device.
CommPlan planComm(JoinSteps& steps, bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
                  const JoinRequest& request, const gpu::DeviceFacts* gpu);

}  // namespace xylem::comm
