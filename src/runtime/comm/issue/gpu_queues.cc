#include "runtime/comm/issue/gpu_queues.h"

#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

namespace xylem::comm {
namespace {

// Positions of this many ends are in one piece of memory.
constexpr std::size_t kStepsPerPiece = 512;

}  // namespace

GpuQueues::GpuQueues(const gpu::GpuContext& gpu, std::span<const ChannelLinks> channels, ReachOfRank reach)
    : gpu_(gpu), channels_(channels), reach_(std::move(reach)) {}

// Algorithms may share an end.
template <typename Visit>
void GpuQueues::eachCollectiveEnd(Visit&& visit) {
  for (const ChannelLinks& channel : channels_)
    for (const AlgorithmLinks* const links :
         {&channel.ring, &channel.tree, &channel.patUp, &channel.patDown, &channel.collnetChain}) {
      for (transport::RecvEnd* const end : links->from)
        if (end != nullptr) visit(*end);
      for (transport::SendEnd* const end : links->to)
        if (end != nullptr) visit(*end);
    }
}

// Memory of the reader's GPU for a queue that another rank may reach in this way, with a name for another process. Returns null if
// there is none.
std::shared_ptr<std::byte> GpuQueues::newMemory(transport::DeviceQueue& offer, std::size_t bytes,
                                                Reach::By by) {
  if (by != Reach::By::kProcess && by != Reach::By::kName) return nullptr;
  const bool elsewhere = by == Reach::By::kName;
  const auto memory = gpu::SharedGpuMemory::make(
      gpu_, bytes, "a queue", elsewhere ? gpu::Sharers::kProcesses : gpu::Sharers::kThisProcess);
  if (elsewhere) {
    if (!memory->name()) return nullptr;
    static_assert(sizeof(gpu::MemoryName) == sizeof offer.name);
    std::memcpy(offer.name, &*memory->name(), sizeof offer.name);
    namedBy_ = memory->name()->by;
  }
  return {memory, memory->data()};
}

// The writer waits for an answer: it gets one whatever happens here.
void GpuQueues::offer(const transport::RecvEnd& side) {
  if (side.pump() != nullptr) return;  // over a network there is no memory to share, and both ranks know that
  End& end = find(side);
  transport::DeviceQueue& offer = end.queue.control->device;
  if (offer.offered.load(std::memory_order_relaxed) != 0) return;
  try {
    const Reach way = reach_(side.peer());
    end.device = newMemory(offer, transport::queueBytes(end.queue.stepBytes), way.by);
    if (way.by == Reach::By::kProcess && way.readsBuffers && reaches(way.device))
      offer.reads.store(1, std::memory_order_relaxed);
  } catch (...) {
    offer.offered.store(transport::DeviceQueue::kNothing, std::memory_order_release);
    throw;
  }
  offer.offered.store(end.device == nullptr ? transport::DeviceQueue::kNothing
                                            : reinterpret_cast<std::uintptr_t>(end.device.get()),
                      std::memory_order_release);
}

gpu::NamedMemory GpuQueues::offeredMemory(const transport::DeviceQueue& offer, const Reach& way) const {
  const std::uint64_t offered = offer.offered.load(std::memory_order_acquire);
  if (offered <= transport::DeviceQueue::kNothing) return {};
  if (way.by == Reach::By::kName) {
    gpu::MemoryName name;
    std::memcpy(&name, offer.name, sizeof name);
    return gpu::memoryByName(gpu_, name);
  }
  if (way.by != Reach::By::kProcess || !reaches(way.device)) return {};
  const auto memory = gpu::SharedGpuMemory::at(offered);
  if (memory == nullptr) return {};
  return {{memory, memory->data()}, {}};
}

// The reader waits for an answer: it gets one whatever happens here.
void GpuQueues::accept(const transport::SendEnd& side) {
  if (side.pump() != nullptr) return;
  End& end = find(side);
  transport::DeviceQueue& offer = end.queue.control->device;
  if (offer.accepted.load(std::memory_order_relaxed) != 0) return;
  try {
    // A rank whose memory this one could not reach is not asked again: to find that out may have taken seconds.
    const auto known = unreached_.find(side.peer());
    if (known == unreached_.end() || known->second.why.empty()) {
      gpu::NamedMemory found = offeredMemory(offer, reach_(side.peer()));
      if (!found.why.empty()) unreached_[side.peer()].why = std::move(found.why);
      end.device = std::move(found.memory);
    }
  } catch (...) {
    offer.accepted.store(transport::DeviceQueue::kRefused, std::memory_order_release);
    throw;
  }
  offer.accepted.store(
      end.device != nullptr ? transport::DeviceQueue::kAccepted : transport::DeviceQueue::kRefused,
      std::memory_order_release);
}

template <typename QueueSide>
void GpuQueues::useMemoryOf(const QueueSide& side) {
  End& end = find(side);
  const transport::DeviceQueue& agreed = side.control().device;
  if (end.device != nullptr &&
      agreed.accepted.load(std::memory_order_acquire) == transport::DeviceQueue::kAccepted) {
    end.queue = transport::queueIn(end.device.get(), end.queue.stepBytes);
    const Reach way = reach_(side.peer());
    end.references = way.readsBuffers && agreed.reads.load(std::memory_order_relaxed) != 0;
    // A writer that reaches the queue in the reader's memory reaches its other memory, too.
    end.places = way.writesBuffers;
    if constexpr (std::is_same_v<QueueSide, transport::SendEnd>)
      othersReadBuffers_ = othersReadBuffers_ || (end.references && !way.isOwn);
    else
      othersWriteBuffers_ = othersWriteBuffers_ || (end.places && !way.isOwn);
  } else {
    end.device = nullptr;
    if (side.pump() == nullptr) noteUnreached(side.peer());
  }
  endOf(side);
}

void GpuQueues::noteUnreached(int rank) {
  const Reach::By by = reach_(rank).by;
  if (by != Reach::By::kProcess && by != Reach::By::kName) return;
  Unreached& unreached = unreached_[rank];
  if (unreached.state == Unreached::kNotNoted) unreached.state = Unreached::kNoted;
}

std::map<int, std::string> GpuQueues::takeUnreached() {
  std::map<int, std::string> taken;
  for (auto& [rank, unreached] : unreached_) {
    if (unreached.state != Unreached::kNoted) continue;
    unreached.state = Unreached::kTaken;
    taken[rank] = unreached.why;
  }
  return taken;
}

void GpuQueues::offerMemory() {
  eachCollectiveEnd([&](auto& side) {
    if constexpr (std::is_same_v<decltype(side), transport::RecvEnd&>) offer(side);
  });
}

void GpuQueues::acceptMemory() {
  eachCollectiveEnd([&](auto& side) {
    if constexpr (std::is_same_v<decltype(side), transport::SendEnd&>) accept(side);
  });
}

void GpuQueues::useMemory() {
  eachCollectiveEnd([&](auto& side) { useMemoryOf(side); });
}

bool GpuQueues::agreeOnMemory(transport::Connection& connection) {
  if (agreed_.contains(&connection)) return true;
  // Over a network there is no memory to share, and both ranks know that.
  const bool network = connection.receivers() > 0 && connection.receiver(0).pump() != nullptr;
  if (network || reach_(connection.peer()).by == Reach::By::kNone) {
    agreed_.insert(&connection);
    return true;
  }
  for (int queue = 0; queue < connection.receivers(); ++queue) offer(connection.receiver(queue));
  std::exception_ptr failure;
  for (int queue = 0; queue < connection.senders(); ++queue) {
    const transport::SendEnd& side = connection.sender(queue);
    if (side.control().device.offered.load(std::memory_order_acquire) == 0) return false;
    try {
      accept(side);
    } catch (const Error&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  for (int queue = 0; queue < connection.receivers(); ++queue)
    if (connection.receiver(queue).control().device.accepted.load(std::memory_order_acquire) == 0)
      return false;
  for (int queue = 0; queue < connection.receivers(); ++queue) useMemoryOf(connection.receiver(queue));
  for (int queue = 0; queue < connection.senders(); ++queue) useMemoryOf(connection.sender(queue));
  agreed_.insert(&connection);
  return true;
}

bool GpuQueues::reaches(int device) const {
  const gpu::EnteredDevice entered(gpu_);
  return gpu_.driver().reachPeer(device) == gpu::kDone;
}

std::uint64_t* GpuQueues::newStep() {
  if (steps_.empty() || usedSteps_ == kStepsPerPiece) {
    const std::size_t bytes = kStepsPerPiece * sizeof(std::uint64_t);
    steps_.emplace_back(gpu_, gpu::GpuMemory::Where::kDevice, bytes, "the positions in queues");
    const gpu::EnteredDevice entered(gpu_);
    gpu_.require(gpu_.driver().clear(steps_.back().data(), bytes), "clearing memory");
    usedSteps_ = 0;
  }
  return reinterpret_cast<std::uint64_t*>(steps_.back().data()) + usedSteps_++;
}

// At first the queue is where the transport has it: in the host's memory, or with slots in the GPU's (net/device_memory.h). Both ends of
// a queue of GPUs begin with step 0, as hosts never use them.
template <typename QueueSide>
GpuQueues::End& GpuQueues::find(const QueueSide& side) {
  End& end = ends_[&side];
  if (end.step != nullptr) return end;
  if (side.nextStep() != 0)
    throw Error(ResultCode::kInternalError, "rank {}, GPU {}: a queue to rank {} was used before",
                gpu_.rank(), gpu_.device(), side.peer());
  end.queue = side.queue();
  end.step = newStep();
  return end;
}

template <typename QueueSide>
const GpuQueues::End& GpuQueues::endOf(const QueueSide& side) {
  End& end = find(side);
  if (end.device == nullptr && end.pinned == nullptr)
    end.pinned = std::make_unique<gpu::RegisteredMemory>(gpu_, end.queue.control, end.queue.bytes);
  return end;
}

template const GpuQueues::End& GpuQueues::endOf(const transport::SendEnd& side);
template const GpuQueues::End& GpuQueues::endOf(const transport::RecvEnd& side);

}  // namespace xylem::comm
