#pragma once
// The description of one host, from what its ranks see. Each rank describes the machine with its own device
// only; the first rank of the host fuses these descriptions, searches the host's channels and reports both to
// all ranks of the job. Searching is most of the work of planning, and every rank would find the same.
//
//   const RankDescription mine = describeForRank(settings, {rank, localRank, localRanks, device});
//   const Document host = fuseDescriptions(xmlOfLocalRanks);            // on the first rank of the host
//   const std::string bytes = toBytes(HostReport{searchKey(settings), writeTopology(host), graphs, copies});
//   const HostReport report = reportFromBytes(bytes);                   // on all ranks
//   if (report.key == searchKey(settings)) ... readGraphs(report.graphs) ...

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings.h"
#include "planner/topology/detect_net.h"
#include "planner/topology/document.h"
#include "runtime/comm/join/host_copies.h"

namespace xylem::comm {

// A rank's place in the job and on its host.
struct LocalPlacement {
  int rank = 0;        // in the communicator
  int localRank = 0;   // among the ranks of the host
  int localRanks = 1;  // how many ranks the host has
  int device = 0;      // the thread's current device when the communicator was made
  // The network devices it sends through; nothing: the host's interfaces.
  std::optional<std::vector<topology::NetDevice>> networks = std::nullopt;
  std::string gpu{};  // the bus id of its GPU; empty: its device is a host device
};

struct RankDescription {
  std::string xml;
  std::string busId;        // of the device
  bool hostDevice = false;  // cores of the host, not a GPU: each local rank gets a device of its own
};

// The machine comes from NCCL_TOPO_FILE or is detected. A rank on a GPU gets the one with its bus id; several ranks may have the same.
// Host devices are assigned by local rank. If a file describes GPUs to a rank on a host device, it gets the one whose `dev` is its
// device. Throws Error (ncclInvalidUsage, ncclSystemError) if there is no such device.
RankDescription describeForRank(const Settings& settings, const LocalPlacement& placement);

// The number by which NCCL's log lines show a bus id: 0000:1b:00.0 is 1b000.
std::uint64_t busIdNumber(const std::string& busId);

// Fuses the descriptions of a host's ranks, in the order of local ranks.
topology::Document fuseDescriptions(std::span<const std::string> xmls);

// Removes the host's mark from the description of one host, so that equal hosts have equal descriptions.
void forgetHost(topology::Document& description);

// The report of a host's first rank to all ranks of the job.
struct HostReport {
  std::uint64_t key = 0;    // searchKey() of the rank that searched
  std::string description;  // topology XML
  std::string graphs;       // text of planner/search/shared_graphs.h; empty: every rank searches for itself
  HostCopies copies;        // how data moves among the ranks of the host
};

std::string toBytes(const HostReport& report);
// Throws ncclRemoteError if the bytes are no report.
HostReport reportFromBytes(std::string_view bytes);

// Ranks with the same key would find the same channels. It is a hash of all settings that are set. Where
// ranks differ in any of them, each searches for itself, and all plans are compared.
std::uint64_t searchKey(const Settings& settings);

}  // namespace xylem::comm
