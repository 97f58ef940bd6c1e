#include "runtime/comm/issue/gpu_queues.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace xylem::comm {
namespace {

// Positions of this many ends are in one piece of memory.
constexpr std::size_t kStepsPerPiece = 512;

}  // namespace

GpuQueues::GpuQueues(const gpu::GpuContext& gpu, std::span<const ChannelLinks> channels, ReachOfRank reach)
    : gpu_(gpu), channels_(channels), reach_(std::move(reach)) {
  eachCollectiveEnd([this](auto& end) { pin(end); });
}

// Algorithms may share an end.
template <typename Visit>
void GpuQueues::eachCollectiveEnd(Visit&& visit) {
  for (const ChannelLinks& channel : channels_)
    for (const AlgorithmLinks* const links :
         {&channel.ring, &channel.tree, &channel.patUp, &channel.patDown}) {
      for (transport::RecvEnd* const end : links->from)
        if (end != nullptr) visit(*end);
      for (transport::SendEnd* const end : links->to)
        if (end != nullptr) visit(*end);
    }
}

// Memory of the reader's GPU for slots that another rank may reach in this way, with a handle for another process. Returns null if
// there is none.
std::shared_ptr<std::byte> GpuQueues::newSlots(transport::DeviceSlots& slots, std::size_t bytes,
                                               Reach::By by) {
  if (by != Reach::By::kProcess && by != Reach::By::kHandle) return nullptr;
  const auto memory = gpu::makeSharedMemory(gpu_, bytes, "a queue's slots");
  if (by == Reach::By::kHandle) {
    gpu::MemoryHandle handle{};
    const gpu::EnteredDevice entered(gpu_);
    if (gpu_.driver().exportMemory(memory->data(), &handle) != gpu::kDone) return nullptr;
    std::memcpy(slots.handle, &handle, sizeof handle);
  }
  return {memory, memory->data()};
}

// The writer waits for an answer: it gets one whatever happens here.
void GpuQueues::offer(const transport::RecvEnd& side) {
  End& end = ends_.at(&side);
  transport::DeviceSlots& slots = end.queue.control->device;
  if (slots.offered.load(std::memory_order_relaxed) != 0) return;
  try {
    end.slots = newSlots(slots, transport::slotsBytes(end.queue.stepBytes), reach_(side.peer()).by);
  } catch (const Error&) {
    slots.offered.store(transport::DeviceSlots::kNothing, std::memory_order_release);
    throw;
  }
  slots.offered.store(end.slots == nullptr ? transport::DeviceSlots::kNothing
                                           : reinterpret_cast<std::uintptr_t>(end.slots.get()),
                      std::memory_order_release);
}

void GpuQueues::accept(const transport::SendEnd& side) {
  End& end = ends_.at(&side);
  transport::DeviceSlots& slots = end.queue.control->device;
  if (slots.accepted.load(std::memory_order_relaxed) != 0) return;
  const std::uint64_t offered = slots.offered.load(std::memory_order_acquire);
  const Reach way = reach_(side.peer());
  if (offered > transport::DeviceSlots::kNothing && way.by == Reach::By::kHandle) {
    gpu::MemoryHandle handle;
    std::memcpy(&handle, slots.handle, sizeof handle);
    end.slots = gpu::importedMemory(gpu_, handle);
  } else if (offered > transport::DeviceSlots::kNothing && way.by == Reach::By::kProcess &&
             reaches(way.device)) {
    const auto memory = gpu::sharedMemoryAt(offered);
    if (memory != nullptr) end.slots = {memory, memory->data()};
  }
  slots.accepted.store(
      end.slots != nullptr ? transport::DeviceSlots::kAccepted : transport::DeviceSlots::kRefused,
      std::memory_order_release);
}

template <typename QueueSide>
void GpuQueues::useSlotsOf(const QueueSide& side) {
  End& end = ends_.at(&side);
  if (end.slots != nullptr &&
      end.queue.control->device.accepted.load(std::memory_order_acquire) == transport::DeviceSlots::kAccepted)
    end.queue = transport::withSlots(end.queue, end.slots.get());
  else
    end.slots = nullptr;
}

void GpuQueues::offerSlots() {
  eachCollectiveEnd([&](auto& side) {
    if constexpr (std::is_same_v<decltype(side), transport::RecvEnd&>) offer(side);
  });
}

void GpuQueues::acceptSlots() {
  eachCollectiveEnd([&](auto& side) {
    if constexpr (std::is_same_v<decltype(side), transport::SendEnd&>) accept(side);
  });
}

void GpuQueues::useSlots() {
  eachCollectiveEnd([&](auto& side) { useSlotsOf(side); });
}

bool GpuQueues::agreeOnSlots(transport::Connection& connection) {
  if (agreed_.contains(&connection)) return true;
  // Over a network there are no slots to share, and both ranks know that.
  const bool network = connection.receivers() > 0 && connection.receiver(0).pump() != nullptr;
  if (network || reach_(connection.peer()).by == Reach::By::kNone) {
    agreed_.insert(&connection);
    return true;
  }
  for (int queue = 0; queue < connection.receivers(); ++queue) {
    pin(connection.receiver(queue));
    offer(connection.receiver(queue));
  }
  for (int queue = 0; queue < connection.senders(); ++queue) {
    const transport::SendEnd& side = connection.sender(queue);
    if (side.control().device.offered.load(std::memory_order_acquire) == 0) return false;
    pin(side);
    accept(side);
  }
  for (int queue = 0; queue < connection.receivers(); ++queue)
    if (connection.receiver(queue).control().device.accepted.load(std::memory_order_acquire) == 0)
      return false;
  for (int queue = 0; queue < connection.receivers(); ++queue) useSlotsOf(connection.receiver(queue));
  for (int queue = 0; queue < connection.senders(); ++queue) useSlotsOf(connection.sender(queue));
  agreed_.insert(&connection);
  return true;
}

bool GpuQueues::reaches(int device) const {
  const gpu::EnteredDevice entered(gpu_);
  return gpu_.driver().reachPeer(device) == gpu::kDone;
}

std::uint64_t* GpuQueues::newStep(std::uint64_t first) {
  if (steps_.empty() || usedSteps_ == kStepsPerPiece) {
    steps_.emplace_back(gpu_, gpu::GpuMemory::Where::kHost, kStepsPerPiece * sizeof(std::uint64_t),
                        "the positions in queues");
    usedSteps_ = 0;
  }
  auto* const step = reinterpret_cast<std::uint64_t*>(steps_.back().data()) + usedSteps_++;
  *step = first;
  return step;
}

template <typename QueueSide>
const GpuQueues::End& GpuQueues::pin(const QueueSide& side) {
  End& end = ends_[&side];
  if (end.step != nullptr) return end;
  transport::StepBytes steps{};
  for (const Protocol protocol : kAllProtocols) steps[protocol] = side.stepBytes(protocol);
  auto* const memory = reinterpret_cast<std::byte*>(const_cast<transport::QueueControl*>(&side.control()));
  end.memory = std::make_unique<gpu::RegisteredMemory>(gpu_, memory, transport::queueBytes(steps));
  end.queue = transport::queueIn(memory, steps);
  end.step = newStep(side.nextStep());
  return end;
}

template const GpuQueues::End& GpuQueues::pin(const transport::SendEnd& side);
template const GpuQueues::End& GpuQueues::pin(const transport::RecvEnd& side);

}  // namespace xylem::comm
