// What a launch does in checked mode, beside its work: comparing its calls with those of other ranks.

#include <cstring>

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/launches.h"

namespace xylem {
namespace {

// A rank that finds that calls differ gives up at once. The others shall hear what differs, from what is
// still on its way to them, before they hear that.
constexpr std::chrono::seconds kVerdictComesWithin{1};

}  // namespace

void Launch::compareCalls(bool& advanced) {
  CallCheck& check = *launches_.check();
  if (!comparing_) check.begin(collectives_);
  comparing_ = true;
  const Progress progress = check.step();
  advanced = advanced || progress != Progress::kWouldBlock;
  compared_ = progress == Progress::kDone;
}

// The sender's words go ahead of its data. The receiver's own call comes to it in no time, so it is the one
// who looks.
bool Launch::tellCall(Track& track, const Work& work, const TransferWork& ends) const {
  const CallWords mine = pack(work.call);
  if (work.function == Function::kSend)
    return ends.to->send(Protocol::kLl, reinterpret_cast<const std::byte*>(mine.data()), sizeof mine);
  if (!ends.from->take(Protocol::kLl, reinterpret_cast<std::byte*>(track.told.data()), sizeof track.told))
    return false;
  const std::optional<CallSignature> sent = unpackCall(track.told);
  if (sent && sent->function == Function::kSend && sent->count == work.call.count &&
      sent->type == work.call.type)
    return true;
  throw Error(ResultCode::kInvalidUsage,
              "a receive does not fit its send: rank {}: {}; rank {}: {} (found by XYLEM_CHECK=1)",
              work.transfer.connection->peer(), sent ? describe(*sent) : "something else", launches_.rank(),
              describe(work.call));
}

void Launch::lookAtPeers() {
  if (!news_) {
    try {
      launches_.watch().look();
      return;
    } catch (const Error& error) {
      if (compared_) throw;
      news_ = error;
      stallStart_ = Clock::now();
    }
  }
  if (compared_ || Clock::now() - stallStart_ > kVerdictComesWithin) throw Error(*news_);
}

// Whether the rank from which the others' words come is gone; throws when it has been before, or when this
// takes too long.
bool Launch::awaitCalls() {
  const CallCheck& check = *launches_.check();
  flight_.wait(check.missing(), FlightWait::kCheck);
  const int previous = check.previousRank();
  std::string how;
  const bool gone = launches_.watch().gone(previous, how);
  if (gone && sawPeerEnd_)
    throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} compares its calls with it",
                previous, how, launches_.rank());
  if (Clock::now() - stallStart_ >= launches_.patience().span)
    throw Error(ResultCode::kRemoteError, "timed out after {} s: {} (found by XYLEM_CHECK=1)",
                launches_.patience().span.count(), check.missingText());
  return gone;
}

}  // namespace xylem
