#pragma once
// Checks before a job runs whether its ranks would agree under NCCL. NCCL computes some values per rank
// and does not exchange them. On hosts of different kinds they may differ, and ranks that decide differently
// wait for each other for ever.
//
//   Preflight result = preflight(plan);
//   if (result.disagrees()) result.remedies = findRemedies(request, settings, plan);
//   for (const CollectiveMismatch& m : result.collectives) ... m.first, m.last, m.byView ...
//
// agreementOf() (planner/plan/agreement.h) is coarser: it compares choices, and predicted times, at sampled
// sizes.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "insight/preflight/mismatch.h"
#include "insight/preflight/networks.h"
#include "insight/preflight/remarks.h"
#include "insight/preflight/remedy.h"
#include "planner/plan/plan.h"

namespace xylem::preflight {

// Values that NCCL does not exchange between ranks.
enum class Unexchanged : std::uint8_t {
  kTreePattern,  // how a host's tree is attached to the network
  kNetLatency,   // of the NICs
  kNvSwitch,     // whether the host has one
  kChannels,
  kNvlsChannels,
  kCollnetHeads,
  kTransferChannels,  // channels of send and receive
  kChannelsPerPeer,   // those of them that two ranks use
};
const char* name(Unexchanged what);

struct Cause {
  Unexchanged what = Unexchanged::kTreePattern;
  std::vector<std::string> byView;      // the value of each view, as text
  std::vector<Collective> collectives;  // ranks decide differently for them because of this value
  bool setup = false;                   // it keeps channels from being connected
  bool transfers = false;               // it makes send and receive hang

  bool hangs() const { return setup || transfers || !collectives.empty(); }
};

// Why ranks decide differently: the values that NCCL computes per rank and does not exchange, and the
// collectives that each of them affects.
//
//   for (const Cause& cause : causesOf(connections, tuning))
//     ... cause.what, cause.byView[view] ("BALANCED_TREE"), cause.collectives ...
//
// A value is to blame for a collective if giving all ranks the same value changes the sizes on which they
// differ.
//
// Returns all values that differ between views, also those that make nothing hang.
std::vector<Cause> causesOf(const connect::Connections& connections,
                            const std::vector<tuning::TuningModel>& tuning);

struct Preflight {
  std::vector<Setup> setup;  // numbers that keep channels from connecting
  std::vector<CollectiveMismatch> collectives;
  std::vector<TransferMismatch> transfers;
  std::vector<Cause> causes;
  // By view: number of ring ends on such a node that need a NIC and have none.
  std::vector<int> endsWithoutNic;
  std::vector<Network> networks;                             // by view
  std::optional<std::pair<Network, Network>> networksApart;  // of the job, which do not connect
  std::vector<Remark> remarks;
  RemedySearch remedies;  // filled in by the caller, with findRemedies()

  bool disagrees() const { return !setup.empty() || !collectives.empty() || !transfers.empty(); }
  bool lacksNics() const;
  bool isFine() const { return !disagrees() && !lacksNics() && !networksApart; }
};

Preflight preflight(const plan::Plan& plan);

}  // namespace xylem::preflight
