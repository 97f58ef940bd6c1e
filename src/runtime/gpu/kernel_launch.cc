#include "runtime/gpu/kernel_launch.h"

#include <algorithm>
#include <cstring>

namespace xylem::gpu {
namespace {

// Parts of the copied memory, and of scratch, begin at multiples of this.
constexpr std::size_t kPartBytes = 16;
// Taken for a launch in advance. Tables of both programs of a Tree on 24 channels, the most of NCCL's plans, and their reports fit.
constexpr std::size_t kTableBytes = std::size_t{64} << 10, kReportBytes = std::size_t{4} << 10;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + kPartBytes - 1) / kPartBytes * kPartBytes; }

// Writes a table, from a place on. Places are offsets in it.
class Writer {
 public:
  Writer(std::byte* table, std::size_t at) : table_(table), at_(at) {}
  std::size_t reserve(std::size_t bytes) { return std::exchange(at_, at_ + padded(bytes)); }
  template <typename T>
  T* place(const T* from, std::size_t count) {
    const std::size_t at = reserve(count * sizeof(T));
    if (count > 0) std::memcpy(static_cast<void*>(table_ + at), from, count * sizeof(T));
    return reinterpret_cast<T*>(at);
  }
  template <typename T>
  T& at(std::size_t place, std::size_t index) {
    return reinterpret_cast<T*>(table_ + place)[index];
  }

 private:
  std::byte* table_;
  std::size_t at_;
};

}  // namespace

LaunchMemory::LaunchMemory(const GpuContext& gpu, std::size_t launches)
    : host_(gpu, GpuMemory::Where::kHost, launches * (kTableBytes + kReportBytes), "kernels' works"),
      device_(gpu, GpuMemory::Where::kDevice, launches * kTableBytes, "kernels' works") {}

LaunchMemory::Part LaunchMemory::part(std::size_t i) const {
  std::byte* const host = host_.data() + i * (kTableBytes + kReportBytes);
  return {{host, kTableBytes},
          {device_.data() + i * kTableBytes, kTableBytes},
          {host + kTableBytes, kReportBytes}};
}

KernelLaunch::KernelLaunch(const GpuContext& gpu, std::uint32_t* abort, EndedBlocks& ended,
                           const LaunchMemory::Part& memory)
    : gpu_(gpu), abort_(abort), ended_(ended), done_(gpu), health_(gpu) {
  host_.used = memory.host;
  device_.used = memory.device;
  reports_.used = memory.reports;
}

void KernelLaunch::clear() {
  usedLanes_ = 0;
  anyWaits_ = anyLongOrder_ = false;
  functions_.clear();
  pumps_.clear();
  reducing_.clear();
}

int KernelLaunch::newLane() {
  if (usedLanes_ == lanes_.size()) lanes_.emplace_back();
  lanes_[usedLanes_].clear();
  return static_cast<int>(usedLanes_++);
}

void KernelLaunch::add(int lane, const WorkRequest& request, std::size_t scratchBytes, Function function,
                       int other, std::uint64_t passed) {
  Entry& entry = lanes_[static_cast<std::size_t>(lane)].emplace_back();
  entry.work = workOf(request);
  entry.work.abort = abort_;
  entry.work.awaited = passed;
  entry.fromEnds = request.from.size();
  entry.toEnds = request.to.size();
  entry.ranks = request.shape.order == nullptr ? 0 : static_cast<std::size_t>(request.shape.ranks);
  entry.scratchBytes = padded(scratchBytes);
  entry.report = functions_.size();
  entry.other = other;
  anyWaits_ = anyWaits_ || other >= 0;
  anyLongOrder_ = anyLongOrder_ || entry.ranks > static_cast<std::size_t>(kMostInOrder);
  functions_.push_back(function);
}

void KernelLaunch::addPump(transport::Pump& pump, bool reduces) {
  if (std::find(pumps_.begin(), pumps_.end(), &pump) != pumps_.end()) return;
  pumps_.push_back(&pump);
  if (reduces) reducing_.push_back(&pump);
}

bool KernelLaunch::pump() noexcept {
  bool moved = false;
  for (transport::Pump* const pump : pumps_) moved = pump->pump() || moved;
  return moved;
}

void KernelLaunch::requireReducingNetworks() const {
  for (const transport::Pump* const pump : reducing_) pump->check();
}

void KernelLaunch::reserve(Memory& memory, GpuMemory::Where where, std::size_t bytes, std::string_view what) {
  if (memory.used.size() >= bytes) return;
  GpuMemory larger(gpu_, where, std::max(2 * memory.used.size(), bytes), what);
  if (memory.own.size() > 0) outgrown_.push_back(std::move(memory.own));
  memory.own = std::move(larger);
  memory.used = {memory.own.data(), memory.own.size()};
}

std::size_t KernelLaunch::Entry::behindWork() const {
  return padded(fromEnds * sizeof(QueueEnd)) + padded(toEnds * sizeof(QueueEnd)) +
         padded(ranks * sizeof(int));
}

// The records of lanes have place for what stands behind their Lane, but not for more than kMostRecordBytes.
constexpr std::size_t kBehindLane = kMostRecordBytes - padded(sizeof(Lane));
static_assert(padded(sizeof(Lane)) <= kMostRecordBytes);

// Chooses the length of records.
std::size_t KernelLaunch::tableBytes() {
  recordBytes_ = padded(sizeof(Lane));
  std::size_t bytes = anyWaits_ ? padded(usedLanes_ * sizeof(std::uint64_t)) : 0;
  for (const std::vector<Entry>& lane : used()) {
    bytes += padded((lane.size() - 1) * sizeof(Work));
    for (const Entry& entry : lane) bytes += entry.behindWork();
    const std::size_t behind = lane.front().behindWork();
    if (behind > kBehindLane) continue;
    recordBytes_ = std::max(recordBytes_, padded(sizeof(Lane)) + behind);
    bytes -= behind;
  }
  return bytes + usedLanes_ * recordBytes_;
}

void KernelLaunch::layOut(Use use) {
  use_ = use;
  bytes_ = tableBytes();
  isInline_ = bytes_ <= sizeof inline_ && !isCopied();
  std::size_t scratchBytes = 0;
  for (const std::vector<Entry>& lane : used())
    for (const Entry& entry : lane) scratchBytes += entry.scratchBytes;
  if (!isInline_) reserve(host_, GpuMemory::Where::kHost, bytes_, "a kernel's works");
  if (isCopied()) reserve(device_, GpuMemory::Where::kDevice, bytes_, "a kernel's works");
  reserve(scratch_, GpuMemory::Where::kDevice, scratchBytes, "an algorithm's scratch");
  reserve(reports_, GpuMemory::Where::kHost, functions_.size() * sizeof(Report), "a kernel's reports");
  std::uninitialized_fill_n(reports(), functions_.size(), Report{});

  std::byte* const table = isInline_ ? inline_.bytes : host_.used.data();
  Writer writer(table, usedLanes_ * recordBytes_);
  // Blocks write here, and find zeros at first, also in each replay of a graph.
  std::uint64_t* passed = nullptr;
  if (anyWaits_) {
    const std::size_t at = writer.reserve(usedLanes_ * sizeof(std::uint64_t));
    std::memset(table + at, 0, usedLanes_ * sizeof(std::uint64_t));
    passed = reinterpret_cast<std::uint64_t*>(device_.used.data() + at);
  }
  std::uint32_t* const ended = use == Use::kOnce ? ended_.counter() : nullptr;
  std::size_t scratch = 0;
  const auto workOf = [&](const Entry& entry, Writer& behind) {
    Work work = entry.work;
    work.from = behind.place(work.from, entry.fromEnds);
    work.to = behind.place(work.to, entry.toEnds);
    if (entry.ranks > 0) work.shape.order = behind.place(work.shape.order, entry.ranks);
    work.report = &reports()[entry.report];
    if (entry.scratchBytes > 0) work.scratch = scratch_.used.data() + scratch;
    scratch += entry.scratchBytes;
    if (entry.other >= 0) work.awaits = passed + entry.other;
    return work;
  };
  for (std::size_t i = 0; i < usedLanes_; ++i) {
    const std::vector<Entry>& entries = lanes_[i];
    const std::size_t others = writer.reserve((entries.size() - 1) * sizeof(Work));
    Writer inRecord(table, i * recordBytes_ + padded(sizeof(Lane)));
    const bool fits = entries.front().behindWork() <= kBehindLane;
    new (&writer.at<Lane>(i * recordBytes_, 0))
        Lane{entries.size(), reinterpret_cast<const Work*>(others), passed == nullptr ? nullptr : passed + i,
             ended, workOf(entries.front(), fits ? inRecord : writer)};
    for (std::size_t w = 1; w < entries.size(); ++w)
      new (&writer.at<Work>(others, w - 1)) Work(workOf(entries[w], writer));
  }
}

void KernelLaunch::put(void* stream, const std::vector<void*>& others, const HostCall& before) {
  while (fences_.size() < others.size()) fences_.push_back(std::make_unique<GpuEvent>(gpu_));
  const EnteredDevice entered(gpu_);
  for (std::size_t i = 0; i < others.size(); ++i) {
    fences_[i]->record(others[i]);
    fences_[i]->hold(stream);
  }
  const DriverTable& driver = gpu_.driver();
  if (isCopied())
    gpu_.require(driver.copy(device_.used.data(), host_.used.data(), bytes_, stream),
                 "copying a kernel's works");
  if (before.function != nullptr)
    gpu_.require(driver.callHost(stream, before.function, before.data), "calling the host before a kernel");
  const LaunchTable table{isCopied() ? device_.used.data() : host_.used.data(),
                          isInline_ ? &inline_ : nullptr, recordBytes_, lanes()};
  gpu_.require(driver.launch(table, stream), "launching a kernel");
  if (use_ == Use::kOnce) ended_.launched(lanes());  // the blocks count, whatever fails from here on
  if (use_ == Use::kInGraph || !others.empty()) done_.record(stream);
  for (void* const other : others) done_.hold(other);
}

void KernelLaunch::start(void* stream, const std::vector<void*>& others) { put(stream, others, {}); }

void KernelLaunch::capture(void* stream, const std::vector<void*>& others, const HostCall& before) {
  put(stream, others, before);
}

void KernelLaunch::giveUpIfWrong() {
  for (std::size_t i = 0; i < functions_.size(); ++i)
    if (failureOf(i) != Outcome::kRunning) giveUp();
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
bool KernelLaunch::isOver() {
  const auto hasEnded = [&](const std::vector<Entry>& lane) {
    for (const Entry& entry : lane)
      if (const Outcome outcome = outcomeOf(entry.report); outcome != Outcome::kDone)
        return outcome != Outcome::kRunning;
    return true;
  };
  if (std::all_of(used().begin(), used().end(), hasEnded)) return true;
  giveUpIfWrong();
  return false;
}

// A work's end is there before its outcome. One that gave up while it waited for another lane never began.
WorkTimes KernelLaunch::timesOf(const WorkRange& works, bool over) const {
  WorkTimes times;
  bool ended = true;
  for (std::size_t i = works.first; i < works.first + works.count; ++i) {
    const Report& report = reports()[i];
    ended = ended && outcomeOf(i) != Outcome::kRunning;
    const std::uint64_t began = __atomic_load_n(&report.began, __ATOMIC_RELAXED);
    if (began != 0 && (times.began == 0 || began < times.began)) times.began = began;
    times.ended = std::max(times.ended, __atomic_load_n(&report.ended, __ATOMIC_RELAXED));
  }
  times.ended = ended || over ? std::max(times.began, times.ended) : 0;
  return times;
}

std::optional<Error> KernelLaunch::failure() const {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Report& report = reports()[i];
    switch (failureOf(i)) {
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
