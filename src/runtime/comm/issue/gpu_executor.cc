#include "runtime/comm/issue/gpu_executor.h"

#include <algorithm>
#include <utility>

#include "runtime/transport/collnet/coll_network.h"

namespace xylem::comm {
namespace {

// Launches that are under way at the same time without new memory.
constexpr std::size_t kKernels = 32;

// As the kernel names operations.
int operatorOf(const CommOperation& operation) {
  if (!reduces(operation.function)) return 0;
  return operation.reduction.scaled ? collectives::kPreMulSum : static_cast<int>(operation.reduction.op);
}

}  // namespace

GpuExecutor::GpuExecutor(const gpu::GpuContext& gpu, const Job& job, GpuQueues::ReachOfRank reach)
    : gpu_(gpu),
      ranks_(job.ranks),
      ranksOnGpu_(job.ranksOnGpu),
      inSlots_(job.inSlots),
      tasks_(gpu.device()),
      abort_(gpu, gpu::GpuMemory::Where::kHost, sizeof(std::uint32_t), "the abort word"),
      ended_(gpu),
      queues_(gpu, job.channels, std::move(reach)),
      channelEnds_(job.channels.size()),
      memory_(gpu, kKernels) {
  for (std::size_t i = 0; i < kKernels; ++i)
    spare_.push_back(std::make_unique<gpu::KernelLaunch>(gpu_, abort(), ended_, memory_.part(i)));
  exchangeKernel(nullptr);
}

std::unique_ptr<gpu::KernelLaunch> GpuExecutor::exchangeKernel(std::unique_ptr<gpu::KernelLaunch> over) {
  if (over == nullptr) {
    over = std::move(spare_.back());  // fill() leaves one
    spare_.pop_back();
  }
  return std::exchange(kernel_, std::move(over));
}

std::unique_ptr<gpu::KernelLaunch> GpuExecutor::newKernel() {
  return std::make_unique<gpu::KernelLaunch>(gpu_, abort(), ended_);
}

template <typename QueueSide>
gpu::QueueEnd GpuExecutor::newEnd(const QueueSide& side, Protocol protocol, bool inSlots) {
  const GpuQueues::End& end = queues_.endOf(side);
  gpu::QueueEnd made = inSlots ? gpu::endInSlots(end.queue, protocol, side.peer(), end.step)
                               : gpu::endOf(end.queue, protocol, side.peer(), end.step);
  made.references = end.references;
  if (end.places) made.offer = reinterpret_cast<std::uint64_t*>(&end.queue.control->offer);
  made.reduces = side.peer() == transport::kReducingNetwork;
  return made;
}

template <typename QueueSide>
std::span<const gpu::QueueEnd> GpuExecutor::endsOf(gpu::KernelLaunch& kernel, int channel,
                                                   std::span<QueueSide* const> sides, Protocol protocol) {
  std::vector<KnownEnds>& known = channelEnds_[static_cast<std::size_t>(channel)];
  auto found = std::find_if(known.begin(), known.end(), [&](const KnownEnds& one) {
    return one.sides == sides.data() && one.protocol == protocol && one.ends.size() == sides.size();
  });
  if (found == known.end()) {
    found = known.insert(found, {sides.data(), protocol, {}});
    for (QueueSide* const side : sides)
      found->ends.push_back(side == nullptr ? gpu::QueueEnd{} : newEnd(*side, protocol, inSlots_));
  }
  if (inSlots_)
    for (QueueSide* const side : sides)
      if (side != nullptr && side->pump() != nullptr)
        kernel.addPump(*side->pump(), side->peer() == transport::kReducingNetwork);
  return found->ends;
}

template <typename QueueSide>
std::span<const gpu::QueueEnd> GpuExecutor::endOf(gpu::KernelLaunch& kernel, const QueueSide& side,
                                                  Protocol protocol) {
  if (side.pump() != nullptr) kernel.addPump(*side.pump());
  gpu::QueueEnd& end = messageEnds_[{&side, protocol}];
  if (!end) end = newEnd(side, protocol, side.pump() != nullptr);
  return {&end, 1};
}

void GpuExecutor::addPrograms(gpu::KernelLaunch& kernel, Lanes& lanes, WorkItem& item, ProgramPath& path,
                              const CommOperation& operation) {
  std::uint64_t before[2];
  for (std::size_t i = 0; i < 2; ++i) before[i] = lanes[i] < 0 ? 0 : kernel.worksOf(lanes[i]);
  item.works = {kernel.works(), path.all().size()};
  for (std::size_t i = 0; i < path.all().size(); ++i) {
    const collectives::ProgramWork& program = path.program[i];
    if (lanes[i] < 0) lanes[i] = kernel.newLane();
    const std::span<const gpu::QueueEnd> from = endsOf(kernel, item.channel, program.from, program.protocol);
    const std::span<const gpu::QueueEnd> to = endsOf(kernel, item.channel, program.to, program.protocol);
    const std::size_t other = 1 - i;
    const bool inBuffers = program.shape.count * elementBytes(operation.type) >= kLeastInBuffers;
    kernel.add(lanes[i],
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
                .scalar = item.scalarAddress,
                .label = program.label,
                .refers = inBuffers && refers(operation),
                .places = inBuffers,
                .offers = inBuffers && offers(operation),
                .isPumped = inSlots_,
                .timed = item.observed},
               path.scratchBytes, item.function, before[other] > 0 ? lanes[other] : -1, before[other]);
  }
}

void GpuExecutor::addTransfer(gpu::KernelLaunch& kernel, int lane, WorkItem& item, TransferPath& path,
                              const CommOperation& operation) {
  if (!path.connect())
    throw Error(ResultCode::kInternalError, "rank {}, GPU {}: the queue of a {} is not connected",
                gpu_.rank(), gpu_.device(), name(item.function));
  const collectives::TransferWork& work = path.work;
  const transport::Pump* const pump = work.from != nullptr ? work.from->pump()
                                      : work.to != nullptr ? work.to->pump()
                                                           : nullptr;
  const bool inSlots = pump != nullptr;
  std::span<const gpu::QueueEnd> from, to;
  if (work.from != nullptr) from = endOf(kernel, *work.from, work.protocol);
  if (work.to != nullptr) to = endOf(kernel, *work.to, work.protocol);
  using collectives::ProgramKind;
  collectives::Shape shape;
  shape.count = work.bytes;
  const bool sends = work.to != nullptr;
  // A shorter message fits into its queue, and does not wait for its receiver.
  const bool isLong = sends && work.bytes >= transport::kQueueSteps * to[0].stepBytes;
  item.works = {kernel.works(), 1};
  kernel.add(lane,
             {.program = sends                  ? ProgramKind::kSendMessage
                         : work.from != nullptr ? ProgramKind::kRecvMessage
                                                : ProgramKind::kCopyMessage,
              .shape = shape,
              .input = work.input,
              .output = work.output,
              .type = DataType::kInt8,
              .reduction = collectives::copyOf(DataType::kInt8),
              .protocol = inSlots ? Protocol::kSimple : work.protocol,
              .from = from,
              .to = to,
              .refers = isLong && refers(operation),
              .isPumped = inSlots,
              .timed = item.observed},
             0, item.function);
}

// In round r a rank sends to the rank r places behind it, and receives from the one r places before it: so both ranks of a message have it
// in the same round.
void GpuExecutor::noteMessages(WorkQueue& queue, const TransferPath& path) {
  if (path.connection == nullptr) {
    receives_.push_back({&queue, 0, 0});
    return;
  }
  const int ahead = path.connection->peer() - gpu_.rank();
  (path.sends ? sends_ : receives_)
      .push_back({&queue, ((path.sends ? ahead : -ahead) + ranks_) % ranks_, path.queue});
}

// Sends and receives that do not fit beside each other take turns, all ranks in the same order of rounds and parts, and sends in other lanes than receives.
// The first one in that order that is not done is at the front of its lanes on both ranks, so all get done: if both have it in
// the same group, or the other rank in one that does not wait for others of this group.
void GpuExecutor::addAllMessages(gpu::KernelLaunch& kernel, int most,
                                 std::span<const CommOperation> operations) {
  const auto sends = static_cast<int>(sends_.size()), receives = static_cast<int>(receives_.size());
  if (sends + receives == 0) return;
  int sending = sends, receiving = receives;
  if (sends + receives > most) {
    std::sort(sends_.begin(), sends_.end());
    std::sort(receives_.begin(), receives_.end());
    const int least = sends > 0 ? 1 : 0, rest = receives > 0 ? 1 : 0;
    sending = std::max(least, std::min(most * sends / (sends + receives), most - rest));
    receiving = std::max(rest, most - sending);
  }
  addMessages(kernel, sends_, sending, operations);
  addMessages(kernel, receives_, receiving, operations);
}

// In at most `most` lanes, each with about as many.
void GpuExecutor::addMessages(gpu::KernelLaunch& kernel, std::vector<Messages>& all, int most,
                              std::span<const CommOperation> operations) {
  if (all.empty()) return;
  const std::size_t each = (all.size() + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(most);
  const std::size_t lanes = (all.size() + each - 1) / each;
  const int first = kernel.lanes();
  for (std::size_t i = 0; i < lanes; ++i) kernel.newLane();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (WorkItem& item : all[i].queue->items())
      addTransfer(kernel, first + static_cast<int>(i % lanes), item, std::get<TransferPath>(item.path),
                  operations[item.place]);
}

// Channels whose programs do not fit beside each other take turns in the lanes of others, in the order of channels. The first one that
// is not done runs on every rank then, whatever lanes the ranks have for it, so all get done.
void GpuExecutor::fill(LaunchWork& work, std::span<const CommOperation> operations, gpu::KernelLaunch& kernel,
                       gpu::KernelLaunch::Use use) {
  const int most = gpu_.facts().residentBlocks / ranksOnGpu_;
  int programs = 0;  // of an item
  channels_.clear();
  sends_.clear();
  receives_.clear();
  kernel.clear();
  for (WorkQueue* const queue : work.open()) {
    WorkItem& first = queue->items().front();
    if (auto* const path = std::get_if<TransferPath>(&first.path)) {
      noteMessages(*queue, *path);
      continue;
    }
    channels_.push_back(queue);
    for (WorkItem& item : queue->items())
      programs = std::max(programs, static_cast<int>(std::get<ProgramPath>(item.path).all().size()));
  }
  addAllMessages(kernel, most - programs, operations);
  if (!channels_.empty()) {
    const int left = std::max(1, (most - kernel.lanes()) / programs);
    lanes_.assign(std::min(channels_.size(), static_cast<std::size_t>(left)), {});
  }
  for (std::size_t i = 0; i < channels_.size(); ++i)
    for (WorkItem& item : channels_[i]->items())
      addPrograms(kernel, lanes_[i % lanes_.size()], item, std::get<ProgramPath>(item.path),
                  operations[item.place]);
  if (kernel.lanes() > most)
    throw Error(ResultCode::kInvalidUsage,
                "rank {}, GPU {}: the group needs {} blocks at the same time, and the GPU has {} for each of "
                "the {} ranks that use it: put collectives, sends and receives into groups of their own, or "
                "let fewer ranks use a GPU",
                gpu_.rank(), gpu_.device(), kernel.lanes(), most, ranksOnGpu_);
  kernel.layOut(use);
  if (spare_.empty()) spare_.push_back(newKernel());
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
void GpuExecutor::start(std::span<const CommOperation> operations) {
  void* const stream = operations.front().gpuStream;
  const std::uint64_t number = gpu_.numberOf(stream);
  if (number != lastStream_) ended_.hold(stream);
  kernel_->start(stream, otherStreams(operations));
  lastStream_ = number;
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

// A graph cannot wait for what is outside of it: the program orders its replays with other calls. It keeps the launch from the beginning, as
// it may have the kernel although something fails after that.
void GpuExecutor::capture(CapturedLaunch& launch, std::span<const CommOperation> operations,
                          std::uint64_t capture) {
  if (lastCaptured_.capture != capture) lastCaptured_ = {};
  void* const stream = operations.front().gpuStream;
  const gpu::EnteredDevice entered(gpu_);
  const std::uint64_t number = gpu_.numberOf(stream);
  const gpu::HostCall unused = launch.whenUnused();
  gpu_.require(gpu_.driver().keepForGraph(stream, unused.function, unused.data),
               "keeping a launch for a graph");
  if (lastCaptured_.launch != nullptr && lastCaptured_.stream != number) lastCaptured_.launch->hold(stream);
  launch.kernel().capture(stream, otherStreams(operations), launch.beforeReplay());
  lastCaptured_ = {&launch.kernel(), number, capture};
}

}  // namespace xylem::comm
