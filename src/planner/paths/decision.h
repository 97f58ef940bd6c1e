#pragma once
// An outcome with its reason. Every rule that says yes or no returns one; NCCL's INFO lines and Xylem's
// explanations are views of it.
//
//   Decision gdr = rules.gdr(gpu, net, Direction::kReceive);
//   if (gdr.yes) ...
//   fmt::print("{}\n", explain(gdr, system));
//     ->  GPU/0-99000 to NET/0-2: no GPU Direct RDMA: the path is SYS, farther than PXB (NCCL_NET_GDR_LEVEL)
//
// A Decision holds facts, not text: making one costs a few stores, and text is made when somebody reads it.

#include <optional>
#include <string>

#include "core/log.h"
#include "core/settings.h"
#include "planner/paths/path_type.h"
#include "planner/topology/rank_names.h"
#include "planner/topology/system.h"

namespace xylem {

enum class Rule : std::uint8_t {
  kP2p,          // may GPU a read and write GPU b's memory
  kShm,          // may a and b meet in shared memory
  kNetIsBetter,  // do both reach a NIC faster than each other
  kGdrReceive,   // may NIC b write a's memory
  kGdrSend,      // may NIC b read a's memory
  kPxn,          // does a reach NIC b through another GPU
};

enum class Reason : std::uint8_t {
  kNear,           // the distance is within the limit
  kTooFar,         // the distance exceeds the limit
  kHostDevices,    // both are host devices of one host: they share its memory
  kNotOnThisHost,  // the peer is not in this host's graph
  kDisabled,       // a variable says no
  kNicWithoutGdr,  // the network device cannot
  kGpuWithoutGdr,  // the GPU cannot
  kOldGpuAlone,    // reads below sm 80 want an NVLink neighbour
  kNicsFaster,     // both NICs are faster than the path between the GPUs
  kPathFaster,     // the path between the GPUs is at least as fast as a NIC
  kOpen,           // nothing forbids it
  kRelayFaster,    // the relay has more bandwidth to the NIC, or a nearer one
  kNoRelay,        // no GPU counts the NIC among its own
  kOwnNic,         // the NIC is its own: it needs no relay
  kRelayFar,       // the relay is itself far from the NIC
  kRelayApart,     // NVLink does not join the relay and the GPU
  kDirectAsGood,   // the direct way is near and as fast as the relay's
};

// Where a limit comes from.
enum class LimitFrom : std::uint8_t {
  kDefault,     // NCCL's own
  kVariable,    // the decision's variable
  kFewAmdGpus,  // up to two GPUs on an AMD machine
};

struct Decision {
  Rule rule = Rule::kP2p;
  Reason reason = Reason::kOpen;
  bool yes = false;
  NodeId subject = kNoNode;  // a
  NodeId object = kNoNode;   // b
  NodeId relay = kNoNode;    // the GPU in between, if there is one
  PathType distance = PathType::kDis;
  PathType limit = PathType::kDis;
  LimitFrom limitFrom = LimitFrom::kDefault;
  // The variable that moves the limit or switches the rule; kCount if there is none.
  Setting variable = Setting::kCount;
};

// One sentence for a person.
std::string explain(const Decision& decision, const System& system);
// The line NCCL prints for this decision, if it prints one.
std::optional<LogLine> infoLine(const Decision& decision, const System& system, const RankNames& names = {});

}  // namespace xylem
