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

CollPump::CollPump(const QueueMemory& out, const QueueMemory& in, std::unique_ptr<CollLink> link, int members,
                   Engine& engine)
    : NetPump(kReducingNetwork, out, engine),
      in_(in),
      members_(members),
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

// The call that the next step begins.
CollPump::Call CollPump::nextCall() const {
  const StepNote& note = queue_.control->notes[posted_ % kQueueSteps];
  assert(note.address != 0);
  const auto label = static_cast<int>(note.address) - 1;
  Call call;
  call.op = static_cast<ReduceOp>(label % kReduceOps);
  call.type = static_cast<DataType>(label / kReduceOps % kDataTypes);
  call.function = static_cast<Function>(label / kReduceOps / kDataTypes);
  call.bytes = note.bytes;
  if (call.function == Function::kReduceScatter) call.takes = members_;
  if (call.function == Function::kAllGather) call.fills = members_;
  return call;
}

// Whether all of the call's data is there, and the other queue has slots for its results.
bool CollPump::mayBegin(const Call& call) const {
  return posted_ + static_cast<std::uint64_t>(call.takes) <=
             queue_.control->tail.load(std::memory_order_acquire) &&
         promised_ + static_cast<std::uint64_t>(call.fills) <=
             in_.control->head.load(std::memory_order_acquire) + kQueueSteps;
}

NetRequest* CollPump::start(const Call& call) {
  std::array<CollPart, kQueueSteps> parts;
  const auto all = static_cast<std::size_t>(members_);
  if (call.function == Function::kAllGather) {
    for (std::size_t i = 0; i < all; ++i) parts[i] = {slotOf(in_, promised_ + i), call.bytes};
    return link_->iallgather(slotOf(queue_, posted_), {parts.data(), all}, outMemory_, inMemory_);
  }
  if (call.function == Function::kReduceScatter) {
    for (std::size_t i = 0; i < all; ++i) parts[i] = {slotOf(queue_, posted_ + i), call.bytes};
    return link_->ireducescatter({parts.data(), all}, slotOf(in_, promised_), call.type, call.op, outMemory_,
                                 inMemory_);
  }
  return link_->iallreduce(slotOf(queue_, posted_), slotOf(in_, promised_),
                           call.bytes / elementBytes(call.type), call.type, call.op, outMemory_, inMemory_);
}

// Starts all calls that can begin.
bool CollPump::begin() {
  bool moved = false;
  while (posted_ < queue_.control->tail.load(std::memory_order_acquire)) {
    Call call = nextCall();
    if (!mayBegin(call)) break;
    call.request = start(call);
    if (call.request == nullptr) break;
    calls_[begun_++ % kQueueSteps] = call;
    promised_ += static_cast<std::uint64_t>(call.fills);
    for (int i = 0; i < call.takes; ++i, ++posted_) tellPosted(call.bytes);
    moved = true;
  }
  return moved;
}

// Publishes the results that have arrived.
bool CollPump::collect() {
  bool moved = false;
  while (ended_ < begun_ && link_->test(calls_[ended_ % kQueueSteps].request)) {
    const Call& call = calls_[ended_++ % kQueueSteps];
    for (int i = 0; i < call.fills; ++i)
      in_.control->notes[filled_++ % kQueueSteps] = {.region = 0, .bytes = call.bytes, .address = 0};
    in_.control->tail.store(filled_, std::memory_order_release);
    for (int i = 0; i < call.takes; ++i, ++done_) tellMoved();
    queue_.control->head.store(done_, std::memory_order_release);
    moved = true;
  }
  return moved;
}

// No descriptor reports that a network has reduced, so the engine polls. It sleeps while nothing is under way and the next
// call waits for its writer or for the reader.
DrivenPump::Drive CollPump::rest(std::vector<pollfd>&) const {
  if (!waits()) return Drive::kSleep;
  return ended_ < begun_ || mayBegin(nextCall()) ? Drive::kPollAgain : Drive::kSleep;
}

CollConnection::CollConnection(CollEndpoint endpoint, Engine& engine)
    : Connection(kReducingNetwork),
      name_(std::move(endpoint.name)),
      rank_(endpoint.rank),
      engine_(engine),
      neighbours_(std::move(endpoint.neighbours)),
      out_(endpoint.stepBytes),
      in_(endpoint.stepBytes) {
  pump_.emplace(out_.queue(), in_.queue(), std::move(endpoint.link), endpoint.members, engine);
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
