#include "comm/all_reduce_task.h"

#include <algorithm>

namespace xylem {

AllReduceTask::AllReduceTask(Operations& operations)
    : operations_(operations),
      channels_(static_cast<std::size_t>(operations.channels_)),
      done_(static_cast<std::size_t>(operations.channels_)) {}

void AllReduceTask::prepare(const RingBuffers& buffers, const Reduction& reduction, std::uint64_t number) {
  number_ = number;
  const int useful = channelsFor(buffers.count * reduction.elementBytes, operations_.channels_);
  used_ = static_cast<std::size_t>(useful);
  for (std::size_t c = 0; c < used_; ++c) {
    const ChannelShare share =
        channelShare(buffers.count, reduction.elementBytes, static_cast<int>(c), useful);
    const std::size_t offset = share.first * reduction.elementBytes;
    const RingBuffers part{buffers.send + offset, buffers.receive + offset, share.count};
    channels_[c].start(part, operations_.links_.channels()[c].place, reduction);
    done_[c] = 0;
  }
  open_ = used_;
  stalled_ = sawPeerEnd_ = warned_ = false;
}

Progress AllReduceTask::step() {
  if (operations_.turn_.load(std::memory_order_acquire) != number_) return Progress::kWouldBlock;
  if (operations_.failed_.load(std::memory_order_acquire)) throw *operations_.failure();
  bool advanced = false;
  for (std::size_t c = 0; c < used_; ++c) {
    if (done_[c] != 0) continue;
    const Progress progress = channels_[c].step();
    advanced = advanced || progress != Progress::kWouldBlock;
    if (progress == Progress::kDone) {
      done_[c] = 1;
      --open_;
    }
  }
  if (open_ == 0) return Progress::kDone;
  if (!advanced) return Progress::kWouldBlock;
  stalled_ = sawPeerEnd_ = false;
  return Progress::kAdvanced;
}

Connection* AllReduceTask::awaited(std::size_t c) const {
  const LinkedChannel& channel = operations_.links_.channels()[c];
  switch (channels_[c].blockedOn()) {
    case BlockedOn::kPrevious:
      return channel.previous;
    case BlockedOn::kNext:
      return channel.next;
    case BlockedOn::kNothing:
      break;
  }
  return nullptr;
}

void AllReduceTask::checkStall() {
  if (operations_.turn_.load(std::memory_order_acquire) != number_) return;
  if (!stalled_) {
    stalled_ = true;
    stallStart_ = Clock::now();
  }
  for (const auto& connection : operations_.links_.connections()) checkPeer(*connection, false);
  for (std::size_t c = 0; c < used_; ++c) {
    Connection* peer = done_[c] == 0 ? awaited(c) : nullptr;
    if (peer == nullptr) continue;
    checkPeer(*peer, true);
    checkPatience(*peer);
  }
}

// A peer that ended matters only to those who wait for it: it may have finished its part, which is then in
// the queues.
void AllReduceTask::checkPeer(Connection& peer, bool awaited) {
  const PeerNews news = peer.news();
  if (news.state == PeerState::kAborted) throw Error(ResultCode::kRemoteError, "{}", news.text);
  if (!awaited || news.state == PeerState::kThere) return;
  if (!sawPeerEnd_) {
    sawPeerEnd_ = true;
    return;
  }
  const char* how = news.state == PeerState::kLost ? "its process ended" : "it destroyed its communicator";
  throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} waits for it in AllReduce",
              peer.peer(), how, operations_.rank_);
}

void AllReduceTask::checkPatience(const Connection& peer) {
  const Patience& patience = operations_.patience_;
  if (Clock::now() - stallStart_ < patience.span) return;
  if (patience.fails)
    throw Error(ResultCode::kRemoteError, "timed out after {} s in AllReduce: rank {} waits for rank {}",
                patience.span.count(), operations_.rank_, peer.peer());
  if (!warned_)
    operations_.log_.warn("AllReduce : rank {} has waited {} s for rank {}, which is alive",
                          operations_.rank_, patience.span.count(), peer.peer());
  warned_ = true;
}

void AllReduceTask::finish(const Error* error) noexcept {
  if (error != nullptr) operations_.fail(*error);
  operations_.giveBack(*this);
}

}  // namespace xylem
