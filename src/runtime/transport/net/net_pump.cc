#include "runtime/transport/net/net_pump.h"

#include <thread>

namespace xylem {
namespace {

// A connection that breaks is a consequence; its cause travels over the control connections, and gets this
// long to arrive before the consequence is reported as the cause.
constexpr std::chrono::seconds kNewsNeeds{2};

NetMemory* registerSlots(NetLink& link, const QueueMemory& queue) {
  return link.registerMemory(queue.simple, kQueueSteps * queue.stepBytes[Protocol::kSimple], kHostPointer);
}

}  // namespace

bool NetPump::guardedStep() noexcept {
  if (state_.load(std::memory_order_relaxed) != kWorking) return false;
  try {
    return step();
  } catch (const LinkBroken& broken) {
    fail(broken.unreachable() ? kUnreachable : kBroken,
         Error(broken.code(), "rank {} is lost: {}", peer_, broken.what()));
  } catch (const Error& wrong) {
    stop(Error(wrong.code(), "from rank {}: {}", peer_, wrong.what()));
  } catch (const std::exception& other) {
    stop(Error(ResultCode::kSystemError, "the network to rank {} failed: {}", peer_, other.what()));
  }
  return false;
}

void NetPump::stop(Error why) { fail(kWrong, std::move(why)); }

void NetPump::fail(State state, Error why) {
  error_ = std::move(why);
  brokenAt_ = std::chrono::steady_clock::now();
  state_.store(state, std::memory_order_release);
}

bool NetPump::pump(std::uint64_t wanted, Landing* landing) noexcept {
  attention_.fetch_add(1, std::memory_order_seq_cst);
  if (busy_.test_and_set(std::memory_order_acquire)) {
    // Who is at it may have looked before our step was there, and be about to sleep.
    engine_.wake();
    return false;
  }
  landing_ = landing;
  landingStep_ = wanted;
  const bool moved = guardedStep();
  landing_ = nullptr;
  const bool left = leftBehind();
  busy_.clear(std::memory_order_release);
  if (left) engine_.wake();
  return moved;
}

DrivenPump::Drive NetPump::drive(std::vector<pollfd>& fds) noexcept {
  if (busy_.test_and_set(std::memory_order_acquire)) return Drive::kLook;
  Drive outcome = Drive::kMoved;
  if (!guardedStep())
    outcome = state_.load(std::memory_order_relaxed) == kWorking ? rest(fds) : Drive::kSleep;
  busy_.clear(std::memory_order_release);
  return outcome;
}

const Error* NetPump::loss() const {
  const State state = state_.load(std::memory_order_acquire);
  const bool early = state == kBroken && std::chrono::steady_clock::now() - brokenAt_ < kNewsNeeds;
  return state == kWorking || early ? nullptr : &*error_;
}

void NetPump::check() const {
  if (const Error* error = loss()) throw *error;
}

NetSendPump::NetSendPump(int peer, const QueueMemory& queue, std::unique_ptr<NetSender> link, Engine& engine)
    : NetPump(peer, queue, engine), link_(std::move(link)), memory_(registerSlots(*link_, queue)) {}

bool NetSendPump::step() {
  bool moved = false;
  const std::uint64_t tail = queue_.control->tail.load(std::memory_order_acquire);
  while (posted_ < tail) {
    const StepNote& note = queue_.control->notes[posted_ % kQueueSteps];
    const std::byte* data = note.region == 0
                                ? queue_.simple + posted_ % kQueueSteps * queue_.stepBytes[Protocol::kSimple]
                                : reinterpret_cast<const std::byte*>(note.address);
    NetRequest* request = link_->isend(data, note.bytes, static_cast<std::uint32_t>(posted_), memory_);
    if (request == nullptr) break;
    tellPosted(note.bytes);
    requests_[posted_++ % kQueueSteps] = request;
    moved = true;
  }
  while (done_ < posted_ && link_->test(requests_[done_ % kQueueSteps])) {
    tellMoved();
    queue_.control->head.store(++done_, std::memory_order_release);
    moved = true;
  }
  return moved;
}

DrivenPump::Drive NetSendPump::rest(std::vector<pollfd>& fds) const {
  if (posted_ < queue_.control->tail.load(std::memory_order_acquire)) return Drive::kLook;
  if (done_ == posted_) return Drive::kSleep;
  return link_->addTo(fds) ? Drive::kSleep : Drive::kLook;
}

bool NetSendPump::flushed() const {
  return queue_.control->head.load(std::memory_order_acquire) ==
             queue_.control->tail.load(std::memory_order_acquire) ||
         failed();
}

void NetSendPump::letGo() noexcept {
  while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  const std::uint64_t tail = queue_.control->tail.load(std::memory_order_acquire);
  bool elsewhere = false;
  for (std::uint64_t step = done_; step < tail; ++step)
    elsewhere = elsewhere || queue_.control->notes[step % kQueueSteps].region != 0;
  if (elsewhere && !failed())
    stop(Error(ResultCode::kRemoteError, "what was to be sent to rank {} was given up", peer_));
  busy_.clear(std::memory_order_release);
}

NetReceivePump::NetReceivePump(int peer, const QueueMemory& queue, std::unique_ptr<NetReceiver> link,
                               Engine& engine)
    : NetPump(peer, queue, engine), link_(std::move(link)), memory_(registerSlots(*link_, queue)) {}

void NetReceivePump::offerSlots() {
  const std::size_t slotBytes = queue_.stepBytes[Protocol::kSimple];
  const std::uint64_t head = queue_.control->head.load(std::memory_order_acquire);
  while (posted_ < head + kQueueSteps) {
    const NetBuffer buffer{queue_.simple + posted_ % kQueueSteps * slotBytes, slotBytes,
                           static_cast<std::uint32_t>(posted_), memory_};
    NetRequest* request = link_->irecv({&buffer, 1});
    if (request == nullptr) break;
    tellPosted(slotBytes);
    requests_[posted_++ % kQueueSteps] = request;
  }
}

bool NetReceivePump::step() {
  if (!ended_) try {
      offerSlots();
    } catch (const LinkBroken& broken) {
      ended_ = broken;
      endedAt_ = std::chrono::steady_clock::now();
    }
  bool moved = false;
  std::size_t bytes = 0;
  while (done_ < posted_ && arrived(bytes)) {
    queue_.control->notes[done_ % kQueueSteps] = {
        .region = 0, .bytes = static_cast<std::uint32_t>(bytes), .address = 0};
    tellMoved();
    queue_.control->tail.store(++done_, std::memory_order_release);
    moved = true;
    // The reader comes back for what follows.
    if (landing_ != nullptr ? done_ > landingStep_ : !link_->more()) break;
  }
  if (ended_ && !moved && (done_ == posted_ || std::chrono::steady_clock::now() - endedAt_ > kNewsNeeds))
    throw LinkBroken(*ended_);
  return moved;
}

// Whether the oldest step is all there.
bool NetReceivePump::arrived(std::size_t& bytes) {
  NetRequest* request = requests_[done_ % kQueueSteps];
  return landing_ != nullptr && landingStep_ == done_ ? link_->testInto(request, *landing_, &bytes)
                                                      : link_->test(request, &bytes);
}

bool NetReceivePump::complete(std::uint64_t steps) const {
  return queue_.control->tail.load(std::memory_order_acquire) >= steps || failed();
}

bool NetReceivePump::full() const {
  return queue_.control->tail.load(std::memory_order_acquire) >=
         queue_.control->head.load(std::memory_order_acquire) + kQueueSteps;
}

DrivenPump::Drive NetReceivePump::rest(std::vector<pollfd>& fds) const {
  // Full: whoever makes room pumps soon after.
  watched_ = done_ < posted_;
  if (!watched_) return Drive::kSleep;
  return link_->addTo(fds) ? Drive::kSleep : Drive::kLook;
}

}  // namespace xylem
