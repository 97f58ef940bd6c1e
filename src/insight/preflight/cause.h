#pragma once
// Why ranks decide differently: what each kind of rank computes alone, and which collectives that reaches.
//
//   for (const Cause& cause : causesOf(connections, tuning))
//     ... cause.what, cause.byView[view] ("BALANCED_TREE"), cause.collectives ...
//
// Found by trying: a value is to blame for a collective if giving all ranks the same one changes on which
// sizes they differ.

#include <string>
#include <vector>

#include "insight/preflight/mismatch.h"

namespace xylem {

// What NCCL does not exchange.
enum class Unexchanged : std::uint8_t {
  kTreePattern,  // through how many GPUs a host's tree meets the network
  kNetLatency,   // of the NICs
  kNvSwitch,     // whether there is one
  kChannels,
  kNvlsChannels,
  kCollnetHeads,
  kTransferChannels,  // of send and receive
  kChannelsPerPeer,   // of them, between two ranks
};
const char* name(Unexchanged what);

struct Cause {
  Unexchanged what = Unexchanged::kTreePattern;
  std::vector<std::string> byView;      // the values
  std::vector<Collective> collectives;  // for which it makes ranks decide differently
  bool setup = false;                   // channels cannot be connected
  bool transfers = false;               // send and receive

  bool hangs() const { return setup || transfers || !collectives.empty(); }
};

// Also those that differ and hang nothing.
std::vector<Cause> causesOf(const Connections& connections, const std::vector<TuningModel>& tuning);

}  // namespace xylem
