#pragma once
// What one rank contributes to the description of its host: the machine as it sees it, with its own device
// only.
//
//   RankDescription mine = describeForRank(settings, {rank, localRank, localRanks, device});
//   ... all ranks of the host exchange mine.xml ...
//   Document host = fuseDescriptions(xmlOfLocalRanks);

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/settings.h"
#include "planner/topology/detect_net_device.h"
#include "planner/topology/document.h"

namespace xylem {

struct RankSeat {
  int rank = 0;        // in the communicator
  int localRank = 0;   // on the host
  int localRanks = 1;  // of the host
  int device = 0;      // the thread's current one when the communicator was made
  // What it sends through in place of the interfaces.
  std::optional<std::vector<NetDevice>> networks = std::nullopt;
};

struct RankDescription {
  std::string xml;
  std::string busId;        // of the device
  bool hostDevice = false;  // cores, not a GPU: each local rank gets one of its own
};

// The machine comes from NCCL_TOPO_FILE or from the system. Host devices are dealt out by local rank; of a
// file that describes GPUs, the rank takes the one whose `dev` is its device.
RankDescription describeForRank(const Settings& settings, const RankSeat& seat);

// The number that NCCL's log lines show for a bus id: 0000:1b:00.0 is 1b000.
std::uint64_t busIdNumber(const std::string& busId);

// In the order of local ranks.
Document fuseDescriptions(std::span<const std::string> xmls);

// Takes the mark of the host away from a description of one host.
void forgetHost(Document& description);

}  // namespace xylem
