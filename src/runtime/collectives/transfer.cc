#include "runtime/collectives/transfer.h"

#include <algorithm>
#include <optional>

#include "core/copying.h"

namespace xylem::collectives {
namespace {

// A step ends once about this much has moved, or what RecvEnd::takePiece takes at once, so that other tasks of the thread get their
// turn.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

device::Progress progressAfter(std::size_t moved) {
  return moved > 0 ? device::Progress::kAdvanced : device::Progress::kWouldBlock;
}

}  // namespace

// Calls `move` with the number of bytes that are left, which returns how many it has moved, until it returns 0 or the turn is over.
// Returns the bytes of all calls.
template <typename Move>
[[gnu::always_inline]] inline std::size_t Transfer::moveAll(Move&& move) {
  std::size_t moved = 0;
  while (done_ < work_.bytes && moved < kTurnBytes) {
    const std::size_t bytes = move(work_.bytes - done_);
    if (bytes == 0) break;
    moved += bytes;
    done_ += bytes;
  }
  return moved;
}

device::Progress Transfer::send(transport::SendEnd& to) {
  const std::size_t moved = moveAll([&](std::size_t left) {
    const std::size_t bytes =
        to.sendPiece(work_.protocol, work_.input + done_, left, work_.bytes, work_.helps);
    if (bytes == 0) to.push();
    return bytes;
  });
  if (done_ < work_.bytes) return progressAfter(moved);
  if (to.drained()) return device::Progress::kDone;
  return progressAfter(work_.helps ? moved + to.help(work_.shared) : moved);
}

device::Progress Transfer::receive(transport::RecvEnd& from) {
  const std::size_t moved = moveAll([&](std::size_t left) {
    return from.takePiece(work_.protocol, work_.output + done_, left, work_.shared);
  });
  if (done_ < work_.bytes) return progressAfter(moved);
  if (hears_ != Hears::kNothing) tellReceived();
  return device::Progress::kDone;
}

// From this rank to itself.
device::Progress Transfer::copy() {
  static const SharedWork& alone = *new SharedWork;  // used until the program ends
  const SharedWork& shared = work_.shared == nullptr ? alone : *work_.shared;
  moveAll([&](std::size_t left) {
    const std::size_t bytes = std::min(left, kTurnBytes * shared.threads());
    shared.stretches(bytes, 1, [&](std::size_t begin, std::size_t end) {
      copyPart(work_.output + done_ + begin, work_.input + done_ + begin, end - begin, work_.bytes);
    });
    return bytes;
  });
  return done_ == work_.bytes ? device::Progress::kDone : device::Progress::kAdvanced;
}

void Transfer::tellReceived() {
  std::optional<std::chrono::nanoseconds> time;
  if (hears_ == Hears::kTime) time = std::chrono::steady_clock::now() - begun_;
  work_.from->received(work_.bytes, time);
}

int Transfer::waitsFor() const {
  if (work_.to != nullptr) return work_.to->peer();
  return work_.from != nullptr ? work_.from->peer() : -1;
}

}  // namespace xylem::collectives
