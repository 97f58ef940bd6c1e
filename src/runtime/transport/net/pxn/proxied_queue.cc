#include "runtime/transport/net/pxn/proxied_queue.h"

#include "core/error.h"
#include "runtime/transport/net/pxn/proxy_ranks.h"

namespace xylem::transport {

ProxiedQueue::ProxiedQueue(ProxyRank& proxy, const ProxyRequest& request, DeviceMemory* device)
    : proxy_(proxy),
      request_(request),
      device_(device),
      memory_(request.stepBytes),
      queue_(memory_.queue()) {}

ProxiedQueue::~ProxiedQueue() {
  memory_.state().over.store(1, std::memory_order_release);
  if (asked_) proxy_.wake();
}

bool ProxiedQueue::connected() const {
  return memory_.state().state.load(std::memory_order_acquire) == ProxiedQueueState::kConnected;
}

void ProxiedQueue::advance() {
  if (!asked_) {
    if (!proxy_.ready()) return;
    proxy_.ask(request_, memory_.fd());
    memory_.closeFd();
    asked_ = true;
  }
  check();
  if (connected()) return;
  if (memory_.state().state.load(std::memory_order_acquire) == ProxiedQueueState::kOffered) answer();
  if (const PeerNews news = newsOfProxy(); news.state != PeerState::kThere)
    throw Error(ResultCode::kRemoteError, "{}", news.state == PeerState::kAborted ? news.text : news.how);
}

// Says whether this rank's GPU reaches the memory that the proxy rank offers for the slots.
void ProxiedQueue::answer() {
  ProxiedQueueState& state = memory_.state();
  if (state.answer.load(std::memory_order_relaxed) != 0) return;
  if (device_ != nullptr) slots_ = device_->reach(state.slots);
  if (slots_ != nullptr) queue_ = memory_.queue(slots_.get());
  state.answer.store(slots_ != nullptr ? ProxiedQueueState::kReached : ProxiedQueueState::kRefused,
                     std::memory_order_release);
  proxy_.wake();
}

bool ProxiedQueue::failed() const {
  return memory_.state().state.load(std::memory_order_acquire) == ProxiedQueueState::kFailed;
}

std::string ProxiedQueue::reason() const {
  const auto& text = memory_.state().reason;
  return fmt::format("rank {}, which sends for this rank (PXN): {}", proxy_.peer(),
                     std::string_view(text.data(), strnlen(text.data(), text.size())));
}

bool ProxiedQueue::flushed() const {
  return queue_.control->head.load(std::memory_order_acquire) ==
             queue_.control->tail.load(std::memory_order_acquire) ||
         failed();
}

PeerNews ProxiedQueue::news() const {
  if (failed()) return {.state = PeerState::kLost, .failedRank = -1, .text = {}, .how = reason()};
  // A proxy rank may leave once nothing is left to send.
  return flushed() ? PeerNews{} : newsOfProxy();
}

PeerNews ProxiedQueue::newsOfProxy() const {
  if (!connected() && proxy_.refuses())
    return {.state = PeerState::kLost,
            .failedRank = -1,
            .text = {},
            .how = fmt::format(
                "rank {}, which was to send to it for this rank (PXN), could not take over the queue",
                proxy_.peer())};
  const PeerNews news = proxy_.news();
  if (news.state == PeerState::kClosed || news.state == PeerState::kLost)
    return {.state = PeerState::kLost,
            .failedRank = -1,
            .text = {},
            .how = fmt::format("rank {}, which sends to it for this rank (PXN), is gone{}{}", proxy_.peer(),
                               news.how.empty() ? "" : ": ", news.how)};
  return news;
}

bool ProxiedQueue::pump() noexcept {
  proxy_.wake();
  return false;
}

void ProxiedQueue::check() const {
  if (failed()) throw Error(ResultCode::kRemoteError, "{}", reason());
}

}  // namespace xylem::transport
