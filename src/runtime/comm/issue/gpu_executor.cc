#include "runtime/comm/issue/gpu_executor.h"

#include <algorithm>
#include <cstring>

namespace xylem::comm {
namespace {

// Steps of this many ends are in one piece of memory.
constexpr std::size_t kStepsPerPiece = 512;

// Launches that are under way at the same time without new memory.
constexpr std::size_t kSpareKernels = 8;

// As the kernel names operations.
int operatorOf(const CommOperation& operation) {
  if (!reduces(operation.function)) return 0;
  return operation.reduction.scaled ? collectives::kPreMulSum : static_cast<int>(operation.reduction.op);
}

}  // namespace

GpuExecutor::GpuExecutor(const gpu::GpuContext& gpu, std::span<const ChannelLinks> channels, int ranks,
                         bool inSlots, ReachOfRank reach)
    : gpu_(gpu),
      channels_(channels),
      ranks_(ranks),
      inSlots_(inSlots),
      reach_(std::move(reach)),
      tasks_(gpu.device()),
      abort_(gpu, gpu::GpuMemory::Where::kHost, sizeof(std::uint32_t), "the abort word"),
      kernel_(newKernel()) {
  eachCollectiveEnd([this](auto& end) { pin(end); });
  while (spare_.size() < kSpareKernels) spare_.push_back(std::make_unique<gpu::KernelLaunch>(gpu_, abort()));
}

// Algorithms may share an end.
template <typename Visit>
void GpuExecutor::eachCollectiveEnd(Visit&& visit) {
  for (const ChannelLinks& channel : channels_)
    for (const AlgorithmLinks* const links :
         {&channel.ring, &channel.tree, &channel.patUp, &channel.patDown}) {
      for (transport::RecvEnd* const end : links->from)
        if (end != nullptr) visit(*end);
      for (transport::SendEnd* const end : links->to)
        if (end != nullptr) visit(*end);
    }
}

// For a reader's slots: memory of its GPU, if the writer may reach that.
void GpuExecutor::offer(const transport::RecvEnd& side) {
  End& end = ends_.at(&side);
  transport::DeviceSlots& slots = end.queue.control->device;
  if (slots.offered.load(std::memory_order_relaxed) != 0) return;
  std::uint64_t offered = transport::DeviceSlots::kNothing;
  if (const Reach::By by = reach_(side.peer()).by; by == Reach::By::kProcess || by == Reach::By::kHandle) {
    const auto memory =
        gpu::makeSharedMemory(gpu_, transport::slotsBytes(end.queue.stepBytes), "a queue's slots");
    gpu::MemoryHandle handle{};
    const gpu::EnteredDevice entered(gpu_);
    if (by != Reach::By::kHandle || gpu_.driver().exportMemory(memory->data(), &handle) == gpu::kDone) {
      std::memcpy(slots.handle, &handle, sizeof handle);
      end.slots = {memory, memory->data()};
      offered = reinterpret_cast<std::uintptr_t>(memory->data());
    }
  }
  slots.offered.store(offered, std::memory_order_release);
}

void GpuExecutor::accept(const transport::SendEnd& side) {
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
void GpuExecutor::useSlotsOf(const QueueSide& side) {
  End& end = ends_.at(&side);
  if (end.queue.control->device.accepted.load(std::memory_order_acquire) == transport::DeviceSlots::kAccepted)
    end.queue = transport::withSlots(end.queue, end.slots.get());
  else
    end.slots = nullptr;
}

void GpuExecutor::offerSlots() {
  eachCollectiveEnd([&](auto& side) {
    if constexpr (std::is_same_v<decltype(side), transport::RecvEnd&>) offer(side);
  });
}

void GpuExecutor::acceptSlots() {
  eachCollectiveEnd([&](auto& side) {
    if constexpr (std::is_same_v<decltype(side), transport::SendEnd&>) accept(side);
  });
}

void GpuExecutor::useSlots() {
  eachCollectiveEnd([&](auto& side) { useSlotsOf(side); });
}

// Over a network there are no slots to share, and both ranks know that.
bool GpuExecutor::agreeOnSlots(transport::Connection& connection) {
  if (reach_(connection.peer()).by == Reach::By::kNone) return true;
  if (connection.receivers() > 0 && connection.receiver(0).pump() != nullptr) return true;
  const auto [state, isNew] = agreed_.try_emplace(&connection, false);
  if (state->second) return true;
  if (isNew)
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
  return state->second = true;
}

bool GpuExecutor::reaches(int device) const {
  const gpu::EnteredDevice entered(gpu_);
  return gpu_.driver().reachPeer(device) == gpu::kDone;
}

std::unique_ptr<gpu::KernelLaunch> GpuExecutor::newKernel() {
  if (spare_.empty()) return std::make_unique<gpu::KernelLaunch>(gpu_, abort());
  std::unique_ptr<gpu::KernelLaunch> kernel = std::move(spare_.back());
  spare_.pop_back();
  return kernel;
}

std::uint64_t* GpuExecutor::newStep(std::uint64_t first) {
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
const GpuExecutor::End& GpuExecutor::pin(const QueueSide& side) {
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

template <typename QueueSide>
gpu::QueueEnd GpuExecutor::endOf(const QueueSide& side, Protocol protocol, bool inSlots) {
  const End& end = pin(side);
  if (side.pump() != nullptr) kernel_->addPump(*side.pump());
  return inSlots ? gpu::endInSlots(end.queue, protocol, side.peer(), end.step)
                 : gpu::endOf(end.queue, protocol, side.peer(), end.step);
}

template <typename QueueSide>
std::vector<gpu::QueueEnd> GpuExecutor::endsOf(std::span<QueueSide* const> sides, Protocol protocol) {
  std::vector<gpu::QueueEnd> all;
  for (const QueueSide* const side : sides)
    all.push_back(side == nullptr ? gpu::QueueEnd{} : endOf(*side, protocol, inSlots_));
  return all;
}

void GpuExecutor::addPrograms(int lanes[2], const WorkItem& item, ProgramPath& path,
                              const CommOperation& operation) {
  std::uint64_t before[2];
  for (int i = 0; i < 2; ++i) before[i] = lanes[i] < 0 ? 0 : kernel_->worksOf(lanes[i]);
  for (std::size_t i = 0; i < path.all().size(); ++i) {
    const collectives::ProgramWork& program = path.program[i];
    if (lanes[i] < 0) lanes[i] = kernel_->newLane();
    const std::vector<gpu::QueueEnd> from = endsOf(program.from, program.protocol);
    const std::vector<gpu::QueueEnd> to = endsOf(program.to, program.protocol);
    const std::size_t other = 1 - i;
    kernel_->add(lanes[i],
                 {.program = program.program.kind,
                  .shape = program.shape,
                  .input = program.buffers.input,
                  .output = program.buffers.output,
                  .type = operation.type,
                  .op = operatorOf(operation),
                  .reduction = program.reduction,
                  .protocol = inSlots_ ? Protocol::kSimple : program.protocol,
                  .mostBytes = program.mostBytes,
                  .from = from,
                  .to = to,
                  .scalar = item.scalarAddress},
                 path.scratchBytes, item.function, before[other] > 0 ? lanes[other] : -1, before[other]);
  }
}

void GpuExecutor::addTransfer(int lane, const WorkItem& item, TransferPath& path) {
  if (!path.connect())
    throw Error(ResultCode::kInternalError, "rank {}, GPU {}: the queue of a {} is not connected",
                gpu_.rank(), gpu_.device(), name(item.function));
  const collectives::TransferWork& work = path.work;
  std::vector<gpu::QueueEnd> from, to;
  const transport::Pump* const pump = work.from != nullptr ? work.from->pump()
                                      : work.to != nullptr ? work.to->pump()
                                                           : nullptr;
  const bool inSlots = pump != nullptr;
  if (work.from != nullptr) from.push_back(endOf(*work.from, work.protocol, inSlots));
  if (work.to != nullptr) to.push_back(endOf(*work.to, work.protocol, inSlots));
  using collectives::ProgramKind;
  collectives::Shape shape;
  shape.count = work.bytes;
  kernel_->add(lane,
               {.program = work.to != nullptr     ? ProgramKind::kSendMessage
                           : work.from != nullptr ? ProgramKind::kRecvMessage
                                                  : ProgramKind::kCopyMessage,
                .shape = shape,
                .input = work.input,
                .output = work.output,
                .type = DataType::kInt8,
                .reduction = collectives::copyOf(DataType::kInt8),
                .protocol = inSlots ? Protocol::kSimple : work.protocol,
                .from = from,
                .to = to},
               0, item.function);
}

void GpuExecutor::fill(LaunchWork& work, std::span<const CommOperation> operations) {
  kernel_->clear();
  for (WorkQueue* const queue : work.open()) {
    int lanes[2] = {-1, -1};
    for (WorkItem& item : queue->items()) {
      if (auto* const programs = std::get_if<ProgramPath>(&item.path)) {
        addPrograms(lanes, item, *programs, operations[item.place]);
      } else {
        if (lanes[0] < 0) lanes[0] = kernel_->newLane();
        addTransfer(lanes[0], item, std::get<TransferPath>(item.path));
      }
    }
  }
  const int most = gpu_.facts().residentBlocks / ranks_;
  if (kernel_->lanes() > most)
    throw Error(ResultCode::kInvalidUsage,
                "rank {}, GPU {}: the group needs {} blocks at the same time, and the GPU has {} for each of "
                "the {} ranks that use it: put fewer sends and receives into a group, or set NCCL_MAX_CTAS",
                gpu_.rank(), gpu_.device(), kernel_->lanes(), most, ranks_);
}

namespace {

// The streams of the operations but for the first one's.
std::vector<void*> otherStreams(std::span<const CommOperation> operations) {
  std::vector<void*> others;
  for (const CommOperation& operation : operations)
    if (operation.gpuStream != operations.front().gpuStream &&
        std::find(others.begin(), others.end(), operation.gpuStream) == others.end())
      others.push_back(operation.gpuStream);
  return others;
}

}  // namespace

// Launches of a communicator run one after the other: all use its queues.
void GpuExecutor::startBehind(Started& last, const Started& now, const std::vector<void*>& others,
                              const gpu::HostCall& before) {
  if (last.launch != nullptr && last.stream != now.stream) {
    const gpu::EnteredDevice entered(gpu_);
    last.launch->hold(now.stream);
  }
  now.launch->start(now.stream, others, before);
  last = now;
}

void GpuExecutor::start(std::span<const CommOperation> operations) {
  startBehind(last_, {kernel_.get(), operations.front().gpuStream}, otherStreams(operations), {});
}

std::uint64_t GpuExecutor::captureOf(std::span<const CommOperation> operations) const {
  const gpu::EnteredDevice entered(gpu_);
  const auto captureOfStream = [&](const CommOperation& operation) {
    std::uint64_t capture = 0;
    gpu_.require(gpu_.driver().captureOf(operation.gpuStream, &capture),
                 "asking whether a stream is captured");
    return capture;
  };
  const std::uint64_t first = captureOfStream(operations.front());
  for (const CommOperation& operation : operations)
    if (captureOfStream(operation) != first)
      throw Error(
          ResultCode::kInvalidUsage,
          "rank {}, GPU {}: the streams of a group are all captured into one graph, or none of them is",
          gpu_.rank(), gpu_.device());
  return first;
}

// A graph cannot wait for what is outside of it: the program orders its replays with other calls.
void GpuExecutor::capture(CapturedLaunch& launch, std::span<const CommOperation> operations,
                          std::uint64_t capture) {
  if (lastCaptured_.capture != capture) lastCaptured_ = {};
  void* const stream = operations.front().gpuStream;
  const gpu::HostCall unused = launch.whenUnused();
  startBehind(lastCaptured_, {&launch.kernel(), stream, capture}, otherStreams(operations),
              launch.beforeReplay());
  const gpu::EnteredDevice entered(gpu_);
  gpu_.require(gpu_.driver().keepForGraph(stream, unused.function, unused.data),
               "keeping a launch for a graph");
}

}  // namespace xylem::comm
