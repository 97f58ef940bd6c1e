#include "runtime/transport/net/pxn/carried_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace xylem::transport {

using Drive = DrivenPump::Drive;

CarriedQueue::CarriedQueue(ProxiedMemory memory, const ProxyRequest& request, const Context& context,
                           SharedSlots slots) noexcept
    : context_(context), memory_(std::move(memory)), request_(request), slots_(std::move(slots)) {
  if (slots_.memory == nullptr) return;
  memory_.state().slots = slots_.handle;
  memory_.state().state.store(ProxiedQueueState::kOffered, std::memory_order_release);
}

void CarriedQueue::fail(const char* why) noexcept {
  failed_ = true;
  ProxiedQueueState& state = memory_.state();
  const std::size_t bytes = std::min(std::strlen(why), state.reason.size() - 1);
  std::copy_n(why, bytes, state.reason.data());
  state.state.store(ProxiedQueueState::kFailed, std::memory_order_release);
}

// Goes on with connecting: waits for the answer about the slots, then for the link.
Drive CarriedQueue::connect() {
  ProxiedQueueState& state = memory_.state();
  const std::uint32_t answer = state.answer.load(std::memory_order_acquire);
  if (slots_.memory != nullptr && answer == 0) return Drive::kSleep;
  if (!connector_) connector_ = context_.network->call(request_.device, request_.handle);
  auto link = connector_->advance();
  if (!link) return Drive::kPollAgain;
  const bool reached = slots_.memory != nullptr && answer == ProxiedQueueState::kReached;
  if (reached && context_.device == nullptr)
    throw Error(ResultCode::kRemoteError, "it destroyed its communicator before the queue was connected");
  const std::shared_ptr<void> entered = reached ? context_.device->enter() : nullptr;
  const NetQueueMemory queue = reached ? NetQueueMemory(memory_.queue(slots_.memory.get()), context_.device)
                                       : NetQueueMemory(memory_.queue());
  const NetEndOptions options{.device = request_.device,
                              .gdr = reached,
                              .pointers = context_.network->properties(request_.device).pointers,
                              .foreign = true};
  pump_ = std::make_unique<NetSendPump>(request_.receiver, queue, std::move(link), *context_.engine, options);
  connector_.reset();
  state.state.store(ProxiedQueueState::kConnected, std::memory_order_release);
  return Drive::kMoved;
}

bool CarriedQueue::connectsSlots() const {
  return slots_.memory != nullptr && !pump_ && !failed_ && !over() &&
         memory_.state().answer.load(std::memory_order_acquire) != ProxiedQueueState::kRefused;
}

Drive CarriedQueue::drive(std::vector<pollfd>& fds) noexcept {
  if (failed_) return Drive::kSleep;
  try {
    if (!pump_) return connect();
    const Drive drive = pump_->drive(fds);
    if (drive == Drive::kMoved) return drive;
    pump_->check();
    // A link that broke says so later: its cause may be about to arrive.
    return pump_->failed() ? Drive::kPollAgain : drive;
  } catch (const std::exception& error) {
    fail(error.what());
    return Drive::kSleep;
  }
}

}  // namespace xylem::transport
