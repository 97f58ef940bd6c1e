#include "runtime/gpu/kernel_launch.h"

#include <algorithm>
#include <cstring>

namespace xylem::gpu {
namespace {

// Parts of the copied memory, and of scratch, begin at multiples of this.
constexpr std::size_t kPartBytes = 16;
// Enough for a collective on a few dozen channels.
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + kPartBytes - 1) / kPartBytes * kPartBytes; }

// Writes what the blocks read into pinned memory, and says where it will be on the GPU.
class Writer {
 public:
  Writer(std::byte* host, std::byte* device) : host_(host), device_(device) {}
  template <typename T>
  T* place(const T* from, std::size_t count) {
    const std::size_t at = std::exchange(at_, at_ + padded(count * sizeof(T)));
    if (count > 0) std::memcpy(static_cast<void*>(host_ + at), from, count * sizeof(T));
    return reinterpret_cast<T*>(device_ + at);
  }

 private:
  std::byte* host_;
  std::byte* device_;
  std::size_t at_ = 0;
};

}  // namespace

KernelLaunch::KernelLaunch(const GpuContext& gpu, std::uint32_t* abort)
    : gpu_(gpu), abort_(abort), done_(gpu) {
  reserve(host_, GpuMemory::Where::kHost, kFirstBytes, "a kernel's works");
  reserve(device_, GpuMemory::Where::kDevice, kFirstBytes, "a kernel's works");
  reserve(reports_, GpuMemory::Where::kHost, kFirstBytes / 16, "a kernel's reports");
}

void KernelLaunch::clear() {
  lanes_.clear();
  functions_.clear();
  pumps_.clear();
}

int KernelLaunch::newLane() {
  lanes_.emplace_back();
  return lanes() - 1;
}

void KernelLaunch::add(int lane, const WorkRequest& request, std::size_t scratchBytes, Function function,
                       int other, std::uint64_t passed) {
  Entry& entry = lanes_[static_cast<std::size_t>(lane)].works.emplace_back();
  entry.work = workOf(request);
  entry.from.assign(request.from.begin(), request.from.end());
  entry.to.assign(request.to.begin(), request.to.end());
  if (request.shape.order != nullptr)
    entry.order.assign(request.shape.order, request.shape.order + request.shape.ranks);
  entry.scratchBytes = padded(scratchBytes);
  entry.report = functions_.size();
  entry.other = other;
  entry.passed = passed;
  functions_.push_back(function);
}

void KernelLaunch::addPump(transport::Pump& pump) {
  if (std::find(pumps_.begin(), pumps_.end(), &pump) == pumps_.end()) pumps_.push_back(&pump);
}

bool KernelLaunch::pump() noexcept {
  bool moved = false;
  for (transport::Pump* const pump : pumps_) moved = pump->pump() || moved;
  return moved;
}

void KernelLaunch::reserve(GpuMemory& memory, GpuMemory::Where where, std::size_t bytes,
                           std::string_view what) {
  if (memory.size() >= bytes) return;
  GpuMemory larger(gpu_, where, std::max(2 * memory.size(), bytes), what);
  if (memory.size() > 0) outgrown_.push_back(std::move(memory));
  memory = std::move(larger);
}

// Fills the pinned memory and returns its bytes. The lanes come first.
std::size_t KernelLaunch::layOut() {
  std::size_t bytes = padded(lanes_.size() * sizeof(Lane)) + padded(lanes_.size() * sizeof(std::uint64_t));
  std::size_t scratchBytes = 0;
  for (const LaneEntry& lane : lanes_) {
    bytes += padded(lane.works.size() * sizeof(Work));
    for (const Entry& entry : lane.works) {
      bytes += padded(entry.from.size() * sizeof(QueueEnd)) + padded(entry.to.size() * sizeof(QueueEnd)) +
               padded(entry.order.size() * sizeof(int));
      scratchBytes += entry.scratchBytes;
    }
  }
  reserve(host_, GpuMemory::Where::kHost, bytes, "a kernel's works");
  reserve(device_, GpuMemory::Where::kDevice, bytes, "a kernel's works");
  reserve(scratch_, GpuMemory::Where::kDevice, scratchBytes, "an algorithm's scratch");
  reserve(reports_, GpuMemory::Where::kHost, functions_.size() * sizeof(Report), "a kernel's reports");
  std::uninitialized_fill_n(reports(), functions_.size(), Report{});

  Writer writer(host_.data(), device_.data());
  std::vector<Lane> lanes(lanes_.size());
  writer.place(lanes.data(), lanes.size());  // once more at the end, when they are complete
  const std::vector<std::uint64_t> none(lanes_.size(), 0);
  std::uint64_t* const passed = writer.place(none.data(), none.size());
  std::size_t scratch = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    std::vector<Work> works;
    for (Entry& entry : lanes_[i].works) {
      Work& work = works.emplace_back(entry.work);
      work.from = writer.place(entry.from.data(), entry.from.size());
      work.to = writer.place(entry.to.data(), entry.to.size());
      work.shape.order = writer.place(entry.order.data(), entry.order.size());
      work.abort = abort_;
      work.report = &reports()[entry.report];
      if (entry.scratchBytes > 0) work.scratch = scratch_.data() + scratch;
      scratch += entry.scratchBytes;
      if (entry.other >= 0) work.awaits = passed + entry.other;
      work.awaited = entry.passed;
    }
    lanes[i] = {writer.place(works.data(), works.size()), works.size(), passed + i};
  }
  Writer(host_.data(), device_.data()).place(lanes.data(), lanes.size());
  return bytes;
}

void KernelLaunch::start(void* stream, const std::vector<void*>& others, const HostCall& before) {
  const std::size_t bytes = layOut();
  while (fences_.size() < others.size()) fences_.push_back(std::make_unique<GpuEvent>(gpu_));
  const EnteredDevice entered(gpu_);
  for (std::size_t i = 0; i < others.size(); ++i) {
    fences_[i]->record(others[i]);
    fences_[i]->hold(stream);
  }
  const DriverTable& driver = gpu_.driver();
  gpu_.require(driver.copy(device_.data(), host_.data(), bytes, stream), "copying a kernel's works");
  if (before.function != nullptr)
    gpu_.require(driver.callHost(stream, before.function, before.data), "calling the host before a kernel");
  gpu_.require(driver.launch(reinterpret_cast<const Lane*>(device_.data()), lanes(), stream),
               "launching a kernel");
  done_.record(stream);
  for (void* const other : others) done_.hold(other);
}

bool KernelLaunch::isOver() {
  if (done_.isOver()) return true;
  giveUpIfWrong();
  return false;
}

void KernelLaunch::giveUpIfWrong() {
  for (std::size_t i = 0; i < functions_.size(); ++i)
    if (const Outcome outcome = outcomeOf(i);
        outcome == Outcome::kMismatch || outcome == Outcome::kUnreachable)
      giveUp();
}

// An error that the replay before has found stays, and ends this one.
void KernelLaunch::beginReplay() {
  if (failure()) return giveUp();
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    __atomic_store_n(&reports()[i].waitsFor, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(&reports()[i].outcome),
                     static_cast<std::uint32_t>(Outcome::kRunning), __ATOMIC_RELEASE);
  }
}

// A work that fails ends its lane.
bool KernelLaunch::hasReportedEnd() {
  const auto hasEnded = [&](const LaneEntry& lane) {
    for (const Entry& entry : lane.works)
      if (const Outcome outcome = outcomeOf(entry.report); outcome != Outcome::kDone)
        return outcome != Outcome::kRunning;
    return true;
  };
  if (std::all_of(lanes_.begin(), lanes_.end(), hasEnded)) return true;
  giveUpIfWrong();
  return false;
}

std::optional<Error> KernelLaunch::failure() const {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Report& report = reports()[i];
    switch (outcomeOf(i)) {
      case Outcome::kMismatch:
        return Error(ResultCode::kInvalidUsage,
                     "rank {}, GPU {}: rank {} sent {} bytes in {} where {} are expected: the ranks called "
                     "different operations",
                     gpu_.rank(), gpu_.device(), report.peer, report.sentBytes, name(functions_[i]),
                     report.expectedBytes);
      case Outcome::kUnreachable:
        return Error(ResultCode::kInternalError,
                     "rank {}, GPU {}: rank {} sent a step of {} by reference, which a GPU cannot read",
                     gpu_.rank(), gpu_.device(), report.peer, name(functions_[i]));
      case Outcome::kRunning:
      case Outcome::kDone:
      case Outcome::kAborted:
        break;
    }
  }
  return std::nullopt;
}

}  // namespace xylem::gpu
