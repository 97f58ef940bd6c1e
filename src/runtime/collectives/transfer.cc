#include "runtime/collectives/transfer.h"

#include <algorithm>
#include <optional>

#include "core/copying.h"

namespace xylem::collectives {
namespace {

// A step ends once about this much has moved, or what RecvEnd::takePiece takes at once, so that other tasks of the thread get their
// turn.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

}  // namespace

// Moves the next bytes and returns their number: 0 if the queue is empty or full.
std::size_t Transfer::move() {
  const std::size_t left = work_.bytes - done_;
  if (work_.to != nullptr) return work_.to->sendPiece(work_.protocol, work_.input + done_, left, work_.bytes);
  if (work_.from != nullptr)
    return work_.from->takePiece(work_.protocol, work_.output + done_, left, work_.shared);
  static const SharedWork& alone = *new SharedWork;  // used until the program ends
  const SharedWork& shared = work_.shared == nullptr ? alone : *work_.shared;
  const std::size_t bytes = std::min(left, kTurnBytes * shared.threads());
  shared.stretches(bytes, 1, [&](std::size_t begin, std::size_t end) {
    copyPart(work_.output + done_ + begin, work_.input + done_ + begin, end - begin, work_.bytes);
  });
  return bytes;
}

device::Progress Transfer::step() {
  std::size_t moved = 0;
  while (done_ < work_.bytes && moved < kTurnBytes) {
    const std::size_t bytes = move();
    if (bytes == 0) {
      if (work_.to != nullptr) work_.to->push();
      break;
    }
    moved += bytes;
    done_ += bytes;
  }
  if (done_ == work_.bytes && (work_.to == nullptr || work_.to->drained())) {
    if (hears_ != Hears::kNothing) tellReceived();
    return device::Progress::kDone;
  }
  return moved > 0 ? device::Progress::kAdvanced : device::Progress::kWouldBlock;
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
