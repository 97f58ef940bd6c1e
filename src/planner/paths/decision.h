#pragma once
// A Decision is an outcome with its reason. Every rule with a yes or no returns one; NCCL's INFO lines and
// Xylem's explanations are made of it.
//
//   Decision gdr = reach.gdr(gpu, net, Direction::kReceive);
//   if (gdr.yes) ...
//   const Explanation why = explain(gdr, system);
//   why.outcome        ->  "no GPU Direct RDMA when receiving"
//   why.reason         ->  "the path is SYS, farther than PXB"
//   why.sentence()     ->  "GPU/0-99000 to NET/0-2: no GPU Direct RDMA when receiving: the path is SYS, ..."
//
// A Decision holds facts, not text: making one costs a few stores, and only explain() makes text.

#include <functional>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "planner/paths/path_table.h"
#include "planner/topology/system.h"

namespace xylem::paths {

enum class Rule : std::uint8_t {
  kP2p,          // may GPU a read and write GPU b's memory
  kShm,          // may a and b meet in shared memory
  kNetIsBetter,  // do both reach a NIC faster than each other
  kGdrReceive,   // may NIC b write a's memory
  kGdrSend,      // may NIC b read a's memory
  kPxn,          // does a reach NIC b through another GPU
  kFlush,        // must what NIC b has written into a's memory be flushed
};

enum class Reason : std::uint8_t {
  kNear,             // the distance is within the limit
  kTooFar,           // the distance exceeds the limit
  kHostDevices,      // both are host devices of one host: they share its memory
  kNotOnThisHost,    // the peer is not in this host's graph
  kOtherHost,        // both are in the graph of an NVLink domain, on different hosts
  kDisabled,         // a variable says no
  kNicWithoutGdr,    // the network device does not support GPU Direct RDMA
  kGpuWithoutGdr,    // the GPU does not support it
  kOldGpuAlone,      // below sm 80 the NIC reads only from a GPU with an NVLink neighbour
  kNicsFaster,       // both NICs are faster than the path between the GPUs
  kPathFaster,       // the path between the GPUs is at least as fast as a NIC
  kOpen,             // nothing forbids it
  kRelayFaster,      // the relay has more bandwidth to the NIC, or a nearer one
  kNoRelay,          // no GPU counts the NIC among its own
  kOwnNic,           // the NIC is its own: it needs no relay
  kRelayFar,         // the relay is itself far from the NIC
  kRelayApart,       // NVLink does not join the relay and the GPU
  kRelayWithoutGdr,  // the NIC does not read the relay's memory
  kDirectAsGood,     // the direct path is near and as fast as the relay's
  kOldGpu,           // data may arrive after the message about it
  kDataDirect,       // the NIC is a data-direct device
  kAskedFor,         // a variable says yes
  kPciBesideC2c,     // data comes over PCI, the message about it over a chip-to-chip link
  kInOrder,          // data arrives before the message about it
};

// The origin of a limit.
enum class LimitFrom : std::uint8_t {
  kDefault,     // NCCL's own
  kVariable,    // the decision's variable
  kFewAmdGpus,  // up to two GPUs on an AMD machine
};

struct Decision {
  Rule rule = Rule::kP2p;
  Reason reason = Reason::kOpen;
  bool yes = false;
  topology::NodeId subject = topology::kNoNode;  // a
  topology::NodeId object = topology::kNoNode;   // b
  topology::NodeId relay = topology::kNoNode;    // the GPU between them, if the path passes one
  PathType distance = PathType::kDis;
  PathType limit = PathType::kDis;
  LimitFrom limitFrom = LimitFrom::kDefault;
  // The variable that moves the limit or switches the rule; kCount if there is none.
  Setting variable = Setting::kCount;
};

// A Decision in words for a person. Views choose the parts that they show.
struct Explanation {
  std::string subject, object;  // names of both nodes; "its peer" if the other node is not on this host
  std::string outcome;          // "direct access", "no direct access"
  std::string reason;           // "the path is SYS, farther than PXB"
  std::string variable;         // the name of the variable that moves the decision; empty: none

  // Outcome, reason and variable: "no direct access: the path is SYS, farther than PXB (NCCL_P2P_LEVEL)".
  std::string clause() const;
  // The clause after the names of both nodes.
  std::string sentence() const;
};

// The name of a node in an explanation.
using NodeNamer = std::function<std::string(topology::NodeId)>;
// Names nodes as System::name() does, or as `name` does.
Explanation explain(const Decision& decision, const topology::System& system);
Explanation explain(const Decision& decision, const NodeNamer& name);
// The lines NCCL prints for this decision, if it prints any. `overPci`: what Reach::gdrOverPci says about it.
std::vector<LogLine> infoLines(const Decision& decision, const topology::System& system, bool overPci,
                               const topology::RankNames& names = {});

}  // namespace xylem::paths
