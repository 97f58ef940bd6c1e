#include "runtime/gpu/mapped_gpus.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/gpu/cpu_machine.h"
#include "runtime/gpu/kernel.h"
#include "runtime/gpu/kernel_job.h"
#include "support/patience.h"

namespace xylem::testing {
namespace {

using gpu::kDone;
using gpu::Status;

constexpr Status kNotReady = 600, kOutOfMemory = 2, kInvalid = 1, kNoContext = 201, kCaptured = 900;

// A graph that is being captured. It ends with the last graph or replay that has its work.
struct Capture {
  std::uint64_t id = 0;
  std::vector<std::function<void()>> work;
  std::vector<std::pair<void (*)(void*), void*>> whenGone;
  ~Capture() {
    for (const auto& [function, data] : whenGone) function(data);
  }
};

class MappedStream {
 public:
  MappedStream(int device, std::uint64_t number)
      : device(device), number(number), thread_([this] { run(); }) {}
  ~MappedStream() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void add(std::function<void()> work) {
    if (capture) return capture->work.push_back(std::move(work));
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
  }

  const int device;
  const std::uint64_t number;
  std::shared_ptr<Capture> capture;  // null: what is added runs

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
      if (work_.empty()) return;
      const std::function<void()> work = work_.front();
      lock.unlock();
      work();
      lock.lock();
      work_.pop_front();
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool ends_ = false;
  std::thread thread_;
};

// The last record of it that a stream has to pass.
struct MappedEvent {
  std::atomic<std::uint64_t> recorded{0}, passed{0};
  std::atomic<std::uint64_t> capture{0};  // that it was recorded in last; 0: none
};

struct Piece {
  std::size_t bytes = 0;
  gpu::Place place{};
  int file = -1;  // of a device's memory, which other processes may map
};

// An IpcHandle of this driver.
struct Exported {
  pid_t process;
  int file;
  std::size_t bytes;
};

struct Machine {
  MappedGpus::Options options;
  std::mutex mutex;
  std::map<const std::byte*, Piece> pieces;
  std::map<void*, MappedStream*> streams;                               // by handle
  std::map<std::pair<std::thread::id, int>, MappedStream*> ownStreams;  // of a thread, by device
  std::set<MappedEvent*> events;
  std::map<int, std::size_t> used;  // bytes by device
  std::set<std::pair<int, int>> reachable;
  std::map<void*, std::size_t> imported;
  std::atomic<int> launches{0}, referring{0}, offering{0}, inLines{0}, importedFiles{0};
  std::atomic<int> failingLaunches{0};  // the next ones
  std::atomic<int> questions{0};        // about events
  std::atomic<bool> haveFailed{false};  // the GPUs
  std::atomic<int> captures{0};         // of streams, under way
  std::atomic<int> running{0};          // kernels
  std::uint64_t lastCapture = 0;
  std::vector<std::pair<void*, std::size_t>> given;         // to tests
  std::vector<std::unique_ptr<MappedStream>> givenStreams;  // also those that were destroyed
  MappedStream& newStream(int device) {
    return *givenStreams.emplace_back(std::make_unique<MappedStream>(device, givenStreams.size() + 1));
  }
};
std::unique_ptr<Machine> machine;
thread_local int currentDevice = 0;
thread_local std::vector<int> entered;

bool forbidden() { return machine->captures > 0 && entered.empty(); }

int device() { return entered.empty() ? currentDevice : entered.back(); }

MappedStream* streamOf(void* handle) {
  const std::lock_guard lock(machine->mutex);
  if (handle == gpu::kThreadsOwnStream) {
    MappedStream*& own = machine->ownStreams[{std::this_thread::get_id(), device()}];
    if (own == nullptr) own = &machine->newStream(device());
    return own;
  }
  const auto found = machine->streams.find(handle);
  return found == machine->streams.end() ? nullptr : found->second;
}

void addPiece(void* memory, std::size_t bytes, gpu::PlaceKind kind, int file = -1) {
  const int peersReach = kind == gpu::PlaceKind::kDevice ? 1 : 0;
  machine->pieces[static_cast<const std::byte*>(memory)] = {bytes, {kind, device(), peersReach}, file};
}
void* newMemory(std::size_t bytes, int file) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}
// Returns false if a kernel runs for ever.
bool noneRuns() {
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  for (Patience patience; machine->running > 0; patience.pause())
    if (deadline.passed()) return false;
  return true;
}

Status makeMemory(void** memory, std::size_t bytes, gpu::PlaceKind kind) {
  if (forbidden()) return kCaptured;
  if (machine->options.takingWaits && !noneRuns()) return kInvalid;
  const std::lock_guard lock(machine->mutex);
  if (kind == gpu::PlaceKind::kDevice && machine->used[device()] + bytes > machine->options.memoryBytes)
    return kOutOfMemory;
  const int file = memfd_create("mapped-gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
  *memory = newMemory(bytes, file);
  if (*memory == nullptr) return kOutOfMemory;
  if (kind == gpu::PlaceKind::kDevice) machine->used[device()] += bytes;
  addPiece(*memory, bytes, kind, file);
  return kDone;
}
Status dropPiece(void* memory, bool unmaps) {
  const std::lock_guard lock(machine->mutex);
  const auto found = machine->pieces.find(static_cast<const std::byte*>(memory));
  if (found == machine->pieces.end()) return kInvalid;
  if (found->second.place.kind == gpu::PlaceKind::kDevice)
    machine->used[found->second.place.device] -= found->second.bytes;
  if (unmaps) munmap(memory, found->second.bytes);
  if (found->second.file >= 0) close(found->second.file);
  machine->pieces.erase(found);
  return kDone;
}

Status import(int file, std::size_t bytes, void** memory) {
  *memory = newMemory(bytes, file);
  if (*memory == nullptr) return kInvalid;
  const std::lock_guard lock(machine->mutex);
  machine->imported[*memory] = bytes;
  return kDone;
}
Status dropImported(void* memory) {
  const std::lock_guard lock(machine->mutex);
  const auto found = machine->imported.find(memory);
  if (found == machine->imported.end()) return kInvalid;
  munmap(memory, found->second);
  machine->imported.erase(found);
  return kDone;
}

void awaitDevice() {
  std::vector<MappedStream*> streams;
  {
    const std::lock_guard lock(machine->mutex);
    for (const auto& stream : machine->givenStreams)
      if (stream->device == device()) streams.push_back(stream.get());
  }
  for (MappedStream* const stream : streams) stream->await();
}
Status release(void* memory, bool unmaps) {
  if (machine->options.releasesWait) awaitDevice();
  return dropPiece(memory, unmaps);
}

void countInBuffers(const gpu::LaunchTable& table) {
  const gpu::TableView view{.begin = reinterpret_cast<std::uintptr_t>(table.begin)};
  for (int i = 0; i < table.lanes; ++i) {
    const auto& lane =
        *reinterpret_cast<const gpu::Lane*>(table.begin + static_cast<std::size_t>(i) * table.recordBytes);
    for (std::uint64_t w = 0; w < lane.count; ++w) {
      const gpu::Work& work = w == 0 ? lane.first : view.at(lane.others)[w - 1];
      machine->referring += work.refers ? 1 : 0;
      machine->offering += work.offers != 0 ? 1 : 0;
      machine->inLines += work.protocol == Protocol::kLl128 ? 1 : 0;
    }
  }
}

void runLanes(const gpu::LaunchTable& table) {
  countInBuffers(table);
  ++machine->running;
  std::latch done(table.lanes);
  for (int i = 0; i < table.lanes; ++i)
    blockPool().start(
        [table, i, shared = std::make_shared<gpu::Block>()](FiberBlock& block, int thread) {
          CpuMachine cpu(block, thread, nullptr);
          gpu::runLane(cpu, *shared, table.begin, table.recordBytes, i);
        },
        [&done] { done.count_down(); });
  done.wait();
  --machine->running;
}

void awaitCount(const std::uint32_t* counter, std::uint32_t count) {
  for (Patience patience; static_cast<std::int32_t>(__atomic_load_n(counter, __ATOMIC_ACQUIRE) - count) < 0;)
    patience.pause();
}

template <typename Work>
Status enqueue(void* stream, Work&& work) {
  MappedStream* const found = streamOf(stream);
  if (found == nullptr) return kInvalid;
  found->add(std::forward<Work>(work));
  return kDone;
}

// A stream that waits for an event of a capture becomes a part of that.
Status joinCapture(MappedStream& stream, std::uint64_t capture) {
  const std::lock_guard lock(machine->mutex);
  for (const auto& [handle, other] : machine->streams)
    if (other->capture && other->capture->id == capture) {
      stream.capture = other->capture;
      return kDone;
    }
  return kCaptured;
}

gpu::DriverTable tableOf(const MappedGpus::Options& options) {
  gpu::DriverTable table{};
  table.abi = gpu::kDriverAbi;
  table.driverVersion = options.driverVersion;
  table.builtVersion = 12080;
  table.oldestVersion = 12000;
  table.notReady = kNotReady;
  table.outOfMemory = kOutOfMemory;
  table.describe = [](Status status) {
    return status == kOutOfMemory ? "out of memory" : status == kNoContext ? "no context" : "invalid value";
  };
  table.countDevices = [](int* count) {
    *count = machine->options.devices;
    return kDone;
  };
  table.currentDevice = [](int* current) {
    *current = device();
    return kDone;
  };
  table.openDevice = [](int) { return kDone; };
  table.loadKernel = [](int) { return machine->options.loadsKernel ? kDone : kInvalid; };
  table.facts = [](int of, gpu::DeviceFacts* facts) {
    *facts = {};
    std::strcpy(facts->name, "mapped");
    if (static_cast<std::size_t>(of) < machine->options.busIds.size())
      std::strcpy(facts->busId, machine->options.busIds[static_cast<std::size_t>(of)].c_str());
    facts->identity = machine->options.areOne ? 1u : 1u + static_cast<unsigned>(of);
    facts->memoryBytes = machine->options.memoryBytes;
    facts->residentBlocks = machine->options.residentBlocks;
    facts->sharesHostAddresses = 1;
    facts->exportsDmaBuf = machine->options.exportsDmaBuf ? 1 : 0;
    facts->givesFiles = machine->options.givesFiles ? 1 : 0;
    return kDone;
  };
  table.enter = [](int of) {
    entered.push_back(of);
    return kDone;
  };
  table.leave = [] {
    if (entered.empty()) return kNoContext;
    entered.pop_back();
    return kDone;
  };
  table.allocate = [](void** memory, std::size_t bytes) {
    return makeMemory(memory, bytes, gpu::PlaceKind::kDevice);
  };
  table.release = [](void* memory) { return release(memory, true); };
  table.allocateHost = [](void** memory, std::size_t bytes) {
    return makeMemory(memory, bytes, gpu::PlaceKind::kRegisteredHost);
  };
  table.releaseHost = table.release;
  table.registerHost = [](void* memory, std::size_t bytes) {
    if (forbidden()) return kCaptured;
    const std::lock_guard lock(machine->mutex);
    if (machine->pieces.count(static_cast<const std::byte*>(memory)) != 0) return kInvalid;
    addPiece(memory, bytes, gpu::PlaceKind::kRegisteredHost);
    return kDone;
  };
  table.unregisterHost = [](void* memory) { return release(memory, false); };
  table.clear = [](void* memory, std::size_t bytes) {
    std::memset(memory, 0, bytes);
    return kDone;
  };
  table.reachPeer = [](int peer) {
    const std::lock_guard lock(machine->mutex);
    if (!machine->options.reachPeers) return kInvalid;
    if (peer != device()) machine->reachable.insert({device(), peer});
    return kDone;
  };
  table.exportMemory = [](void* memory, gpu::IpcHandle* handle) {
    const std::lock_guard lock(machine->mutex);
    const auto found = machine->pieces.find(static_cast<const std::byte*>(memory));
    if (found == machine->pieces.end()) return kInvalid;
    const Exported exported{getpid(), found->second.file, found->second.bytes};
    static_assert(sizeof exported <= sizeof *handle);
    std::memcpy(handle, &exported, sizeof exported);
    return kDone;
  };
  // The file of the allocation in which these pages lie.
  table.exportDmaBuf = [](void* memory, std::size_t bytes, int* descriptor) {
    const std::lock_guard lock(machine->mutex);
    auto found = machine->pieces.upper_bound(static_cast<const std::byte*>(memory));
    if (!machine->options.exportsDmaBuf || machine->options.failsToExport || found == machine->pieces.begin())
      return kInvalid;
    const auto& [begin, piece] = *--found;
    if (static_cast<const std::byte*>(memory) + bytes > begin + piece.bytes || piece.file < 0)
      return kInvalid;
    *descriptor = fcntl(piece.file, F_DUPFD_CLOEXEC, 0);
    return *descriptor < 0 ? kInvalid : kDone;
  };
  table.importMemory = [](const gpu::IpcHandle* handle, void** memory) {
    Exported exported{};
    std::memcpy(&exported, handle, sizeof exported);
    if (!machine->options.reachPeers || exported.process == getpid()) return kInvalid;
    const std::string path = fmt::format("/proc/{}/fd/{}", exported.process, exported.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return kInvalid;
    const Status status = import(file, exported.bytes, memory);
    close(file);
    return status;
  };
  table.closeMemory = dropImported;
  // Whole pages of 2 MiB, as GPUs have them.
  table.allocateFile = [](void** memory, std::size_t* bytes) {
    constexpr std::size_t kWhole = std::size_t{2} << 20;
    *bytes = (*bytes + kWhole - 1) / kWhole * kWhole;
    return makeMemory(memory, *bytes, gpu::PlaceKind::kDevice);
  };
  table.openFile = [](void* memory, int* descriptor) {
    if (forbidden()) return kCaptured;
    const std::lock_guard lock(machine->mutex);
    const auto found = machine->pieces.find(static_cast<const std::byte*>(memory));
    if (found == machine->pieces.end() || machine->options.failsToOpenFiles) return kInvalid;
    *descriptor = fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
    return *descriptor < 0 ? kInvalid : kDone;
  };
  table.mapFile = [](int descriptor, std::size_t bytes, void** memory) {
    struct stat file {};
    if (!machine->options.reachPeers || machine->options.failsToMapFiles || fstat(descriptor, &file) != 0 ||
        static_cast<std::size_t>(file.st_size) != bytes)
      return kInvalid;
    ++machine->importedFiles;
    return import(descriptor, bytes, memory);
  };
  table.releaseFile = [](void* memory) {
    return dropImported(memory) == kDone ? kDone : dropPiece(memory, true);
  };
  table.lookUp = [](const void* address, gpu::Place* place) {
    const std::lock_guard lock(machine->mutex);
    const auto* const asked = static_cast<const std::byte*>(address);
    *place = {gpu::PlaceKind::kHost, -1, 0};
    auto found = machine->pieces.upper_bound(asked);
    if (found == machine->pieces.begin()) return kDone;
    --found;
    if (asked < found->first + found->second.bytes) *place = found->second.place;
    return kDone;
  };
  table.copy = [](void* to, const void* from, std::size_t bytes, void* stream) {
    return enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  };
  table.streamDevice = [](void* stream, int* of) {
    const MappedStream* const found = streamOf(stream);
    if (found == nullptr) return kInvalid;
    *of = found->device;
    return kDone;
  };
  table.streamNumber = [](void* stream, std::uint64_t* number) {
    const MappedStream* const found = streamOf(stream);
    if (found == nullptr) return kInvalid;
    *number = found->number;
    return kDone;
  };
  table.captureOf = [](void* stream, std::uint64_t* capture) {
    const MappedStream* const found = streamOf(stream);
    if (found == nullptr) return kInvalid;
    *capture = found->capture ? found->capture->id : 0;
    return kDone;
  };
  table.keepForGraph = [](void* stream, void (*function)(void*), void* data) {
    const MappedStream* const found = streamOf(stream);
    if (found == nullptr || !found->capture) {
      function(data);
      return kInvalid;
    }
    found->capture->whenGone.emplace_back(function, data);
    return kDone;
  };
  table.synchronize = [] {
    awaitDevice();
    return kDone;
  };
  table.makeEvent = [](void** event) {
    auto* const made = new MappedEvent;
    const std::lock_guard lock(machine->mutex);
    machine->events.insert(made);
    *event = made;
    return kDone;
  };
  table.destroyEvent = [](void* event) {
    auto* const asked = static_cast<MappedEvent*>(event);
    const std::lock_guard lock(machine->mutex);
    if (machine->events.erase(asked) == 0) return kInvalid;
    delete asked;
    return kDone;
  };
  table.recordEvent = [](void* event, void* stream) {
    auto* const of = static_cast<MappedEvent*>(event);
    MappedStream* const found = streamOf(stream);
    if (found == nullptr) return kInvalid;
    of->capture = found->capture ? found->capture->id : 0;
    if (of->capture != 0) return kDone;  // a graph is in the order of the calls
    const std::uint64_t number = of->recorded.fetch_add(1) + 1;
    return enqueue(stream, [=] { of->passed.store(number); });
  };
  table.awaitEvent = [](void* stream, void* event) {
    auto* const of = static_cast<MappedEvent*>(event);
    MappedStream* const found = streamOf(stream);
    if (found == nullptr) return kInvalid;
    if (of->capture != 0) return joinCapture(*found, of->capture);
    if (found->capture) return kCaptured;  // a graph cannot wait for what is outside of it
    return enqueue(stream, [of, number = of->recorded.load()] {
      for (Patience patience; of->passed.load() < number;) patience.pause();
    });
  };
  table.queryEvent = [](void* event) {
    ++machine->questions;
    if (machine->haveFailed) return kInvalid;
    if (forbidden()) return kCaptured;
    auto* const of = static_cast<MappedEvent*>(event);
    if (of->capture != 0) return kCaptured;
    return of->passed.load() < of->recorded.load() ? kNotReady : kDone;
  };
  table.awaitCount = [](void* stream, const std::uint32_t* counter, std::uint32_t count) {
    MappedStream* const found = streamOf(stream);
    if (found == nullptr) return kInvalid;
    if (found->capture) return kCaptured;
    return enqueue(stream, [=] { awaitCount(counter, count); });
  };
  table.awaitCountHere = [](const std::uint32_t* counter, std::uint32_t count) {
    awaitCount(counter, count);
    return kDone;
  };
  table.callHost = [](void* stream, void (*function)(void*), void* data) {
    return enqueue(stream, [=] { function(data); });
  };
  table.launch = [](const gpu::LaunchTable& given, void* stream) {
    if (machine->failingLaunches > 0 && machine->failingLaunches-- > 0) return kInvalid;
    if (given.lanes > machine->options.residentBlocks) return kInvalid;
    ++machine->launches;
    if (given.inlined == nullptr) return enqueue(stream, [given] { runLanes(given); });
    return enqueue(stream, [given, copy = std::make_shared<gpu::InlineTable>(*given.inlined)] {
      gpu::LaunchTable copied = given;
      copied.begin = copy->bytes;
      runLanes(copied);
    });
  };
  return table;
}

gpu::DriverTable table;

}  // namespace

MappedGpus::MappedGpus() : MappedGpus(Options{}) {}

MappedGpus::MappedGpus(const Options& options) {
  machine = std::make_unique<Machine>();
  machine->options = options;
  table = tableOf(options);
  gpu::useDriver(&table);
}

MappedGpus::~MappedGpus() {
  gpu::useDriver(nullptr);
  EXPECT_EQ(machine->events.size(), 0u) << "communicators are still there";
  for (const auto& stream : machine->givenStreams) stream->await();
  machine->givenStreams.clear();
  for (const auto& [memory, bytes] : machine->given) dropPiece(memory, true);
  machine.reset();
}

void MappedGpus::setDevice(int of) { currentDevice = of; }

void* MappedGpus::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (makeMemory(&memory, bytes, gpu::PlaceKind::kDevice) != kDone) return nullptr;
  const std::lock_guard lock(machine->mutex);
  machine->given.emplace_back(memory, bytes);
  return memory;
}

void* MappedGpus::allocateFromPool(std::size_t bytes) {
  void* const memory = allocate(bytes);
  const std::lock_guard lock(machine->mutex);
  machine->pieces[static_cast<const std::byte*>(memory)].place.peersReach = 0;
  return memory;
}

int MappedGpus::deviceOf(const void* memory) const {
  gpu::Place place{};
  table.lookUp(memory, &place);
  return place.kind == gpu::PlaceKind::kDevice ? place.device : -1;
}

void* MappedGpus::makeStream() {
  const std::lock_guard lock(machine->mutex);
  MappedStream& made = machine->newStream(device());
  machine->streams[&made] = &made;
  return &made;
}

void MappedGpus::replaceStream(void* stream) {
  const std::lock_guard lock(machine->mutex);
  MappedStream*& known = machine->streams.at(stream);
  known = &machine->newStream(known->device);
}

void MappedGpus::await(void* stream) { streamOf(stream)->await(); }

void MappedGpus::hold(void* stream, const bool* opens) {
  streamOf(stream)->add([opens] {
    for (Patience patience; !__atomic_load_n(opens, __ATOMIC_ACQUIRE);) patience.pause();
  });
}

void MappedGpus::beginCapture(void* stream) {
  MappedStream& captured = *streamOf(stream);
  const std::lock_guard lock(machine->mutex);
  auto& capture = captured.capture = std::make_shared<Capture>();
  capture->id = ++machine->lastCapture;
  ++machine->captures;
}

MappedGpus::Graph MappedGpus::endCapture(void* stream) {
  const std::shared_ptr<Capture> capture = streamOf(stream)->capture;
  const std::lock_guard lock(machine->mutex);
  for (const auto& [handle, other] : machine->streams)
    if (other->capture == capture) other->capture = nullptr;
  --machine->captures;
  return {capture, &capture->work};
}

void MappedGpus::joinCapture(void* stream, void* other) {
  streamOf(other)->capture = streamOf(stream)->capture;
}

void MappedGpus::replay(const Graph& graph, void* stream) {
  for (const auto& work : *graph) streamOf(stream)->add([graph, &work] { work(); });
}

void MappedGpus::failNextLaunch() { machine->failingLaunches = 1; }
void MappedGpus::fail() { machine->haveFailed = true; }
int MappedGpus::questions() const { return machine->questions; }
int MappedGpus::launches() const { return machine->launches; }
int MappedGpus::referring() const { return machine->referring; }
int MappedGpus::offering() const { return machine->offering; }
int MappedGpus::inLines() const { return machine->inLines; }
int MappedGpus::importedFiles() const { return machine->importedFiles; }

std::size_t MappedGpus::reachablePairs() const {
  const std::lock_guard lock(machine->mutex);
  return machine->reachable.size();
}

std::size_t MappedGpus::imported() const {
  const std::lock_guard lock(machine->mutex);
  return machine->imported.size();
}

std::size_t MappedGpus::allocated() const {
  const std::lock_guard lock(machine->mutex);
  return machine->imported.size() + machine->pieces.size() - machine->given.size() + machine->events.size();
}

std::size_t MappedGpus::allocatedOnGpus() const {
  const std::lock_guard lock(machine->mutex);
  return static_cast<std::size_t>(
      std::count_if(machine->pieces.begin(), machine->pieces.end(),
                    [](const auto& piece) { return piece.second.place.kind == gpu::PlaceKind::kDevice; }));
}

}  // namespace xylem::testing
