#include "runtime/transport/net/net_queue.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <thread>

#include "core/error.h"

namespace xylem::transport {
namespace {

// Shorter data is copied, so that its sender need not wait until the network has taken it.
constexpr std::size_t kMinInPlaceBytes = std::size_t{8} << 10;

// A link that breaks is a consequence. Its cause (a rank has aborted or ended) travels over the session and has
// this long to arrive before the broken link is reported as the cause.
constexpr std::chrono::seconds kCauseDelay{2};

}  // namespace

NetQueueMemory::NetQueueMemory(const StepBytes& stepBytes, DeviceMemory* device) : device_(device) {
  if (device != nullptr) slots_ = device->allocate(slotBytes(stepBytes));
  const std::size_t bytes = device != nullptr ? controlBytes() : queueBytes(stepBytes);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error(ResultCode::kSystemError, "cannot get {} bytes for a queue over the network: {}", bytes,
                errnoText(errno));
  auto* const memory = static_cast<std::byte*>(mapped);
  new (memory) QueueControl{};
  queue_ = device != nullptr ? queueApart(memory, slots_.get(), stepBytes) : queueIn(memory, stepBytes);
}

NetQueueMemory::NetQueueMemory(NetQueueMemory&& other) noexcept
    : queue_(std::exchange(other.queue_, {})),
      owned_(other.owned_),
      device_(other.device_),
      slots_(std::move(other.slots_)) {}

NetQueueMemory::~NetQueueMemory() {
  if (owned_ && queue_.control != nullptr) munmap(queue_.control, queue_.bytes);
}

// A network that takes both is given a DMA-BUF, as NCCL does, if the driver makes one.
NetMemory* NetQueueMemory::registerWith(NetLink& link, unsigned pointers) const {
  const std::size_t bytes = slotBytes(queue_.stepBytes);
  if (device_ == nullptr) return link.registerMemory(queue_.simple, bytes, kHostPointer);
  if ((pointers & device_->pointers() & kDmaBufPointer) != 0)
    if (const FileDescriptor dmaBuf = device_->dmaBufOf(queue_.simple, bytes))
      return link.registerDmaBuf(queue_.simple, bytes, dmaBuf.get());
  if ((pointers & kCudaPointer) == 0)
    throw Error(
        ResultCode::kSystemError,
        "the network takes memory of GPUs only as DMA-BUF, and the GPU's driver made none of {} bytes; "
        "NCCL_NET_GDR_LEVEL=LOC leaves them in memory of the host",
        bytes);
  return link.registerMemory(queue_.simple, bytes, kCudaPointer);
}

bool NetPeerMemory::locate(const std::byte* data, std::size_t bytes, bool, StepNote& note) {
  if (bytes < kMinInPlaceBytes) return false;
  note = {.region = 1,
          .bytes = static_cast<std::uint32_t>(bytes),
          .address = reinterpret_cast<std::uintptr_t>(data)};
  return true;
}

// Payload that comes from the network is in slots, so no receiver ever asks for it.
const std::byte* NetPeerMemory::reach(const StepNote&) {
  throw Error(ResultCode::kInternalError, "a step that came over the network lies in its sender's memory");
}
void NetPeerMemory::read(const StepNote& note, std::byte*) { reach(note); }

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

// One user moves at a time. A user that finds another thread moving, or leaves work behind, wakes the
// engine, which then takes over.
bool NetPump::pump(std::uint64_t wanted, ReceiveBuffer* buffer) noexcept {
  attention_.fetch_add(1, std::memory_order_seq_cst);
  if (busy_.test_and_set(std::memory_order_acquire)) {
    // The thread that holds busy_ may have checked before our step was there, and be about to sleep.
    engine_.wake();
    return false;
  }
  buffer_ = buffer;
  awaitedStep_ = wanted;
  const bool moved = guardedStep();
  buffer_ = nullptr;
  const bool left = leftBehind();
  busy_.clear(std::memory_order_release);
  if (left) engine_.wake();
  return moved;
}

DrivenPump::Drive NetPump::drive(std::vector<pollfd>& fds) noexcept {
  if (busy_.test_and_set(std::memory_order_acquire)) return Drive::kPollAgain;
  Drive outcome = Drive::kMoved;
  if (!guardedStep())
    outcome = state_.load(std::memory_order_relaxed) == kWorking ? rest(fds) : Drive::kSleep;
  busy_.clear(std::memory_order_release);
  return outcome;
}

const Error* NetPump::loss() const {
  const State state = state_.load(std::memory_order_acquire);
  const bool early = state == kBroken && std::chrono::steady_clock::now() - brokenAt_ < kCauseDelay;
  return state == kWorking || early ? nullptr : &*error_;
}

void NetPump::check() const {
  if (const Error* error = loss()) throw *error;
}

NetSendPump::NetSendPump(int peer, const NetQueueMemory& memory, std::unique_ptr<NetSender> link,
                         Engine& engine, const NetEndOptions& options)
    : NetPump(peer, memory.queue(), engine),
      link_(std::move(link)),
      memory_(memory.registerWith(*link_, options.pointers)),
      foreign_(options.foreign) {}

// Hands new steps to the link until it takes no more, then frees the slots of the oldest steps that have
// been sent.
bool NetSendPump::step() {
  bool moved = false;
  const std::uint64_t tail = queue_.control->tail.load(std::memory_order_acquire);
  if (foreign_ && (tail < posted_ || tail - done_ > kQueueSteps))
    throw Error(ResultCode::kRemoteError, "its sender says that it has written {} steps after {}", tail,
                done_);
  while (posted_ < tail) {
    const StepNote note = queue_.control->notes[posted_ % kQueueSteps];
    if (foreign_ && (note.region != 0 || note.bytes > queue_.stepBytes[Protocol::kSimple]))
      throw Error(ResultCode::kRemoteError, "its sender wrote a step of {} bytes in region {}", note.bytes,
                  note.region);
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
  if (posted_ < queue_.control->tail.load(std::memory_order_acquire)) return Drive::kPollAgain;
  if (done_ == posted_) return Drive::kSleep;
  return link_->addTo(fds) ? Drive::kSleep : Drive::kPollAgain;
}

bool NetSendPump::flushed() const {
  return queue_.control->head.load(std::memory_order_acquire) ==
             queue_.control->tail.load(std::memory_order_acquire) ||
         failed();
}

void NetSendPump::releaseUserBuffers() noexcept {
  while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  const std::uint64_t tail = queue_.control->tail.load(std::memory_order_acquire);
  bool elsewhere = false;
  for (std::uint64_t step = done_; step < tail; ++step)
    elsewhere = elsewhere || queue_.control->notes[step % kQueueSteps].region != 0;
  if (elsewhere && !failed())
    stop(Error(ResultCode::kRemoteError, "what was to be sent to rank {} was given up", peer_));
  busy_.clear(std::memory_order_release);
}

NetReceivePump::NetReceivePump(int peer, const NetQueueMemory& memory, std::unique_ptr<NetReceiver> link,
                               Engine& engine, const NetEndOptions& options)
    : NetPump(peer, memory.queue(), engine),
      link_(std::move(link)),
      memory_(memory.registerWith(*link_, options.pointers)),
      flushes_(options.flush && memory.onDevice()) {}

// Gives the link all free slots as receive buffers.
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

// Offers the link all free slots, then publishes the oldest steps that have arrived. If the link breaks
// while slots are offered, messages under way still get time to arrive.
bool NetReceivePump::step() {
  if (!ended_) try {
      offerSlots();
    } catch (const LinkBroken& broken) {
      ended_ = broken;
      endedAt_ = std::chrono::steady_clock::now();
    }
  bool moved = false;
  while (done_ < posted_ && arrived()) {
    tellMoved();
    queue_.control->tail.store(++done_, std::memory_order_release);
    moved = true;
    // A reader that waits for one step gets it before the pump touches the next one.
    if (buffer_ != nullptr ? done_ > awaitedStep_ : !link_->more()) break;
  }
  if (ended_ && !moved && (done_ == posted_ || std::chrono::steady_clock::now() - endedAt_ > kCauseDelay))
    throw LinkBroken(*ended_);
  return moved;
}

// Returns whether all of the oldest step has arrived, and is where the reader sees it. Flushes of later steps begin meanwhile.
bool NetReceivePump::arrived() {
  while (received_ < posted_ && (flushes_ || received_ == done_)) {
    NetRequest* const request = requests_[received_ % kQueueSteps];
    std::size_t bytes = 0;
    const bool over = buffer_ != nullptr && awaitedStep_ == received_
                          ? link_->testInto(request, *buffer_, &bytes)
                          : link_->test(request, &bytes);
    if (!over) break;
    queue_.control->notes[received_ % kQueueSteps] = {
        .region = 0, .bytes = static_cast<std::uint32_t>(bytes), .address = 0};
    if (flushes_) flush(received_, bytes);
    ++received_;
  }
  if (done_ == received_) return false;
  NetRequest* const flush = flushes_ ? requests_[done_ % kQueueSteps] : nullptr;
  return flush == nullptr || link_->test(flush);
}

void NetReceivePump::flush(std::uint64_t step, std::size_t bytes) {
  const std::size_t slot = step % kQueueSteps;
  const NetBuffer buffer{queue_.simple + slot * queue_.stepBytes[Protocol::kSimple], bytes,
                         static_cast<std::uint32_t>(step), memory_};
  requests_[slot] = bytes == 0 ? nullptr : link_->iflush({&buffer, 1});
}

bool NetReceivePump::complete(std::uint64_t steps) const {
  return queue_.control->tail.load(std::memory_order_acquire) >= steps || failed();
}

bool NetReceivePump::full() const {
  return queue_.control->tail.load(std::memory_order_acquire) >=
         queue_.control->head.load(std::memory_order_acquire) + kQueueSteps;
}

DrivenPump::Drive NetReceivePump::rest(std::vector<pollfd>& fds) const {
  // If all slots are full, the reader pumps soon after it has read one.
  watched_ = done_ < posted_;
  if (!watched_) return Drive::kSleep;
  if (done_ < received_) return Drive::kPollAgain;  // a flush is under way
  return link_->addTo(fds) ? Drive::kSleep : Drive::kPollAgain;
}

}  // namespace xylem::transport
