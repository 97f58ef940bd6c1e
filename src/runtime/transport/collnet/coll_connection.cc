#include "runtime/transport/collnet/coll_connection.h"

#include <algorithm>
#include <cassert>

namespace xylem::transport {
namespace {

// Results of data that a member sent before it ended may still arrive for this long.
constexpr std::chrono::seconds kResultNeeds{1};

NetMemory* registerAll(CollLink& link, const QueueMemory& queue) {
  return link.registerMemory(queue.simple, kQueueSteps * queue.stepBytes[Protocol::kSimple], kHostPointer);
}

std::byte* slotOf(const QueueMemory& queue, std::uint64_t step) {
  return queue.simple + step % kQueueSteps * queue.stepBytes[Protocol::kSimple];
}

}  // namespace

CollPump::CollPump(const QueueMemory& out, const QueueMemory& in, std::unique_ptr<CollLink> link,
                   Engine& engine)
    : NetPump(kReducingNetwork, out, engine),
      in_(in),
      link_(std::move(link)),
      outMemory_(registerAll(*link_, out)) {
  try {
    inMemory_ = registerAll(*link_, in);
  } catch (...) {
    link_->deregisterMemory(outMemory_);
    throw;
  }
}

CollPump::~CollPump() {
  link_->deregisterMemory(inMemory_);
  link_->deregisterMemory(outMemory_);
}

std::uint64_t CollPump::reduced() const { return queue_.control->head.load(std::memory_order_acquire); }

bool CollPump::waits() const { return reduced() < queue_.control->tail.load(std::memory_order_acquire); }

bool CollPump::step() {
  try {
    const bool begun = begin();
    return collect() || begun;
  } catch (const LinkBroken& broken) {
    fail(kBroken, Error(broken.code(), "{}", broken.what()));
  } catch (const Error& wrong) {
    stop(Error(wrong.code(), "{}", wrong.what()));
  }
  return false;
}

// Starts the reduction of all steps for which the other queue has a free slot.
bool CollPump::begin() {
  bool moved = false;
  const std::uint64_t tail = queue_.control->tail.load(std::memory_order_acquire);
  const std::uint64_t limit = in_.control->head.load(std::memory_order_acquire) + kQueueSteps;
  while (posted_ < std::min(tail, limit)) {
    const StepNote& note = queue_.control->notes[posted_ % kQueueSteps];
    assert(note.address != 0);
    const auto label = static_cast<int>(note.address) - 1;
    const auto type = static_cast<DataType>(label / kReduceOps);
    NetRequest* const request =
        link_->iallreduce(slotOf(queue_, posted_), slotOf(in_, posted_), note.bytes / elementBytes(type),
                          type, static_cast<ReduceOp>(label % kReduceOps), outMemory_, inMemory_);
    if (request == nullptr) break;
    tellPosted(note.bytes);
    requests_[posted_++ % kQueueSteps] = request;
    moved = true;
  }
  return moved;
}

// Publishes the results that have arrived.
bool CollPump::collect() {
  bool moved = false;
  while (done_ < posted_ && link_->test(requests_[done_ % kQueueSteps])) {
    tellMoved();
    const std::uint32_t bytes = queue_.control->notes[done_ % kQueueSteps].bytes;
    in_.control->notes[done_ % kQueueSteps] = {.region = 0, .bytes = bytes, .address = 0};
    in_.control->tail.store(++done_, std::memory_order_release);
    queue_.control->head.store(done_, std::memory_order_release);
    moved = true;
  }
  return moved;
}

// No descriptor reports that a network has reduced, so the engine polls.
DrivenPump::Drive CollPump::rest(std::vector<pollfd>&) const {
  const bool waitsForReader =
      posted_ == done_ && posted_ >= in_.control->head.load(std::memory_order_acquire) + kQueueSteps;
  return waits() && !waitsForReader ? Drive::kPollAgain : Drive::kSleep;
}

CollConnection::CollConnection(CollEndpoint endpoint, Engine& engine)
    : Connection(kReducingNetwork),
      name_(std::move(endpoint.name)),
      rank_(endpoint.rank),
      engine_(engine),
      neighbours_(std::move(endpoint.neighbours)),
      out_(endpoint.stepBytes),
      in_(endpoint.stepBytes) {
  pump_.emplace(out_.queue(), in_.queue(), std::move(endpoint.link), engine);
  senders_.push_back(std::make_unique<SendEnd>(peer(), out_.queue(), nullptr, &*pump_));
  receivers_.push_back(std::make_unique<RecvEnd>(peer(), in_.queue(), nullptr, &*pump_));
  engine_.add(*pump_);
}

CollConnection::~CollConnection() { engine_.remove(*pump_); }

PeerNews CollConnection::news() {
  if (!pump_->waits()) return {};
  const auto lost = std::find_if(neighbours_.begin(), neighbours_.end(), [](Connection* neighbour) {
    return neighbour->news().state == PeerState::kLost;
  });
  if (lost == neighbours_.end()) return {};
  const auto now = std::chrono::steady_clock::now();
  if (const std::uint64_t reduced = pump_->reduced(); reduced != reducedThen_) {
    reducedThen_ = reduced;
    lostAt_ = now;
  }
  if (now - lostAt_ < kResultNeeds) return {};
  const int rank = (*lost)->peer();
  return {PeerState::kAborted, rank,
          fmt::format("rank {} is gone (its process ended or cannot be reached) while rank {} waits for what "
                      "{} reduces",
                      rank, rank_, name_)};
}

}  // namespace xylem::transport
