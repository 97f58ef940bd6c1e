#include "runtime/api/one_sided.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "core/copying.h"
#include "core/resize_file.h"
#include "core/shareable_memory.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/cuda_api/cuda_error.h"
#include "runtime/device/scheduler.h"

namespace xylem::api {
namespace {

constexpr std::size_t kMaxWindows = 256;
// A bit in an entry's number: the window was given back.
constexpr std::uint64_t kGone = std::uint64_t{1} << 63;
// Bytes that a step copies, so that other streams of the thread go on.
constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

struct OneSided::Control {
  // A window: `number` is its ordinal plus 1, and is written last.
  struct Entry {
    std::atomic<std::uint64_t> number{0};
    std::uint64_t address = 0, bytes = 0;
    std::int32_t flags = 0, isShareable = 0;
    cuda_api::IpcName name;
  };
  std::uint64_t process = 0;  // its number (comm::processNumber)
  std::int32_t pid = 0;
  std::atomic<std::int32_t> ended{0};
  std::array<Entry, kMaxWindows> windows;
  // Followed by the counters: of each kind, one for each rank.

  static std::size_t bytesFor(int ranks) {
    return sizeof(Control) + kKinds * static_cast<std::size_t>(ranks) * sizeof(std::atomic<std::uint64_t>);
  }
};

OneSided::Control& OneSided::controlOf(int rank) const {
  return *std::launder(reinterpret_cast<Control*>(controls_[static_cast<std::size_t>(rank)].get()));
}

std::atomic<std::uint64_t>& OneSided::counter(int owner, int source, Kind kind) const {
  std::byte* const first = controls_[static_cast<std::size_t>(owner)].get() + sizeof(Control);
  const std::size_t index = kind * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(source);
  return *std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(first) + index);
}

OneSided::OneSided(comm::Communicator& communicator)
    : rank_(communicator.rank()), ranks_(communicator.ranks()), controls_(static_cast<std::size_t>(ranks_)) {
  for (std::vector<std::uint64_t>& taken : taken_) taken.resize(static_cast<std::size_t>(ranks_));
  const std::size_t bytes = Control::bytesFor(ranks_);
  cuda_api::IpcName mine;
  std::optional<Error> failure;
  const auto attempt = [&failure](auto&& work, const std::string& what) {
    try {
      if (!failure) work();
    } catch (const cuda_api::CudaFailure&) {
      failure = Error(ResultCode::kSystemError, "one-sided operations: {}", what);
    }
  };
  attempt(
      [&] {
        file_ = FileDescriptor(memfd_create("xylem-one-sided", MFD_CLOEXEC));
        struct stat facts {};
        if (!file_ || !resizeFile(file_.get(), bytes) || fstat(file_.get(), &facts) != 0)
          throw cuda_api::CudaFailure(cudaErrorOperatingSystem);
        mine = {.kind = cuda_api::IpcKind::kWindow,
                .process = getpid(),
                .descriptor = file_.get(),
                .device = facts.st_dev,
                .file = facts.st_ino,
                .offset = 0,
                .bytes = bytes};
        std::shared_ptr<std::byte> memory = cuda_api::mapIpc(mine, cuda_api::IpcKind::kWindow);
        Control* const control = new (memory.get()) Control;
        control->process = comm::processNumber();
        control->pid = getpid();
        controls_[static_cast<std::size_t>(rank_)] = std::move(memory);
      },
      "this rank gets no memory that others can map");
  const auto names =
      communicator.exchange(std::as_bytes(std::span(&mine, 1)), sizeof mine, "the first one-sided call");
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    attempt(
        [&] {
          cuda_api::IpcName theirs;
          const std::vector<std::byte>& told = names[static_cast<std::size_t>(rank)];
          if (told.size() != sizeof theirs) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
          std::memcpy(&theirs, told.data(), sizeof theirs);
          if (theirs.bytes != bytes) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
          controls_[static_cast<std::size_t>(rank)] = cuda_api::mapIpc(theirs, cuda_api::IpcKind::kWindow);
        },
        fmt::format("the memory of rank {} cannot be reached through /proc; both ranks need one user and one "
                    "namespace of processes",
                    rank));
  }
  // Each rank writes its counters only when all have mapped the control memory, and learns who has not.
  const std::byte well{failure ? std::uint8_t{0} : std::uint8_t{1}};
  const auto all = communicator.exchange(std::span(&well, 1), 1, "the first one-sided call");
  if (failure) throw *failure;
  for (int rank = 0; rank < ranks_; ++rank)
    if (all[static_cast<std::size_t>(rank)] != std::vector<std::byte>{std::byte{1}})
      throw Error(ResultCode::kSystemError,
                  "one-sided operations: rank {} cannot reach the memory of all others", rank);
}

OneSided::~OneSided() { end(); }

void OneSided::publish(const Window& window) {
  Control::Entry& entry = controlOf(rank_).windows[window.ordinal % kMaxWindows];
  const std::uint64_t before = entry.number.load(std::memory_order_relaxed);
  if (before != 0 && (before & kGone) == 0)
    throw Error(ResultCode::kInvalidUsage,
                "ncclCommWindowRegister: the communicator has a window that is {} registrations old; give it "
                "back first",
                kMaxWindows);
  entry.address = reinterpret_cast<std::uintptr_t>(window.start);
  entry.bytes = window.bytes;
  entry.flags = window.flags;
  entry.isShareable = ShareableMemory::find(window.start, window.bytes) ? 1 : 0;
  if (entry.isShareable == 1)
    entry.name = cuda_api::nameForIpc(window.start, window.bytes, cuda_api::IpcKind::kWindow);
  entry.number.store(window.ordinal + 1, std::memory_order_release);
}

void OneSided::withdraw(std::uint64_t ordinal) {
  controlOf(rank_).windows[ordinal % kMaxWindows].number.store((ordinal + 1) | kGone,
                                                               std::memory_order_release);
  const std::lock_guard lock(mutex_);
  std::erase_if(mapped_, [ordinal](const auto& entry) { return entry.first.second == ordinal; });
}

std::shared_ptr<std::byte> OneSided::find(const Put& put) {
  Control& control = controlOf(put.peer);
  const Control::Entry& entry = control.windows[put.window % kMaxWindows];
  const std::uint64_t number = entry.number.load(std::memory_order_acquire), wanted = put.window + 1;
  if ((number & ~kGone) < wanted) return nullptr;
  if (number != wanted)
    throw Error(ResultCode::kInvalidUsage, "ncclPutSignal: rank {} has given the window back", put.peer);
  if ((entry.flags & NCCL_WIN_COLL_SYMMETRIC) == 0)
    throw Error(ResultCode::kInvalidArgument,
                "ncclPutSignal: rank {} registered the window without NCCL_WIN_COLL_SYMMETRIC", put.peer);
  if (put.offset > entry.bytes || put.bytes > entry.bytes - put.offset)
    throw Error(ResultCode::kInvalidArgument,
                "ncclPutSignal: {} bytes at {} do not fit into the window of rank {}, which has {}",
                put.bytes, put.offset, put.peer, entry.bytes);
  if (control.process == comm::processNumber()) {
    auto* const start = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(entry.address));
    return {std::shared_ptr<void>(), start + put.offset};  // the program's memory
  }
  if (entry.isShareable == 0)
    throw Error(
        ResultCode::kInvalidArgument,
        "ncclPutSignal: the window of rank {} is not memory of ncclMemAlloc or cudaMalloc, which other "
        "processes can reach",
        put.peer);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<std::byte>& mapped = mapped_[{put.peer, put.window}];
  try {
    if (mapped == nullptr) mapped = cuda_api::mapIpc(entry.name, cuda_api::IpcKind::kWindow);
  } catch (const cuda_api::CudaFailure&) {
    throw Error(ResultCode::kSystemError, "ncclPutSignal: the window of rank {} cannot be mapped", put.peer);
  }
  return {mapped, mapped.get() + put.offset};
}

void OneSided::signal(int peer, Kind kind) {
  counter(peer, rank_, kind).fetch_add(1, std::memory_order_release);
}

bool OneSided::take(const Wait& wait, Kind kind, bool onlyLook) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t>& taken = taken_[kind];
  for (const Signals& wanted : wait.wanted)
    if (counter(rank_, wanted.peer, kind).load(std::memory_order_acquire) -
            taken[static_cast<std::size_t>(wanted.peer)] <
        wanted.count)
      return false;
  if (onlyLook) return true;
  for (const Signals& wanted : wait.wanted) taken[static_cast<std::size_t>(wanted.peer)] += wanted.count;
  return true;
}

std::optional<Error> OneSided::whyGone(int rank) const {
  const Control& control = controlOf(rank);
  if (control.ended.load(std::memory_order_acquire) != 0)
    return Error(ResultCode::kRemoteError,
                 "a one-sided operation waits for rank {}, which has left the communicator", rank);
  if (kill(control.pid, 0) != 0 && errno == ESRCH)
    return Error(ResultCode::kRemoteError, "a one-sided operation waits for rank {}, whose process is gone",
                 rank);
  return std::nullopt;
}

void OneSided::keepFailure(const Error& error) noexcept {
  if (ended_.load(std::memory_order_seq_cst)) return;
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_.emplace(error);
}

std::optional<Error> OneSided::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// An operation in a stream. It keeps the control memory, and counts as outstanding until it is finished.
class OneSided::Operation : public device::Task {
 public:
  Operation(std::shared_ptr<OneSided> all, Kind kind) : all_(std::move(all)), kind_(kind) {
    all_->outstanding_.fetch_add(1, std::memory_order_relaxed);
  }
  virtual ~Operation() { all_->outstanding_.fetch_sub(1, std::memory_order_release); }
  void finish(const Error* error) noexcept final {
    const std::unique_ptr<Operation> self(this);
    if (error != nullptr) all_->keepFailure(*error);
  }

 protected:
  const std::shared_ptr<OneSided> all_;
  const Kind kind_;
};

// A step, which touches the buffers of the program. Throws Error if there must be none any more.
class OneSided::Busy {
 public:
  explicit Busy(OneSided& all) : all_(all) {
    all_.busy_.fetch_add(1, std::memory_order_seq_cst);
    if (!all_.ended_.load(std::memory_order_seq_cst)) return;
    all_.busy_.fetch_sub(1, std::memory_order_release);
    throw Error(ResultCode::kInvalidUsage,
                "a one-sided operation is left undone: its communicator was aborted, revoked or destroyed");
  }
  ~Busy() { all_.busy_.fetch_sub(1, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  OneSided& all_;
};

class OneSided::PutTask final : public Operation {
 public:
  PutTask(std::shared_ptr<OneSided> all, Kind kind, const Put& put)
      : Operation(std::move(all), kind), put_(put) {}

  device::Progress step() override {
    const Busy busy(*all_);
    if (put_.bytes > 0 && to_ == nullptr) to_ = all_->find(put_);
    if (put_.bytes > 0 && to_ == nullptr) return device::Progress::kWouldBlock;
    if (const std::size_t piece = std::min(kPiece, put_.bytes - copied_); piece > 0) {
      copyBytes(to_.get() + copied_, put_.from + copied_, piece);
      copied_ += piece;
    }
    if (copied_ < put_.bytes) return device::Progress::kAdvanced;
    all_->signal(put_.peer, kind_);
    return device::Progress::kDone;
  }
  void checkStall() override {
    if (const std::optional<Error> gone = all_->whyGone(put_.peer)) throw *gone;
  }

 private:
  const Put put_;
  std::shared_ptr<std::byte> to_;
  std::size_t copied_ = 0;
};

class OneSided::WaitTask final : public Operation {
 public:
  WaitTask(std::shared_ptr<OneSided> all, Kind kind, Wait wait)
      : Operation(std::move(all), kind), wait_(std::move(wait)) {}

  device::Progress step() override {
    const Busy busy(*all_);
    return all_->take(wait_, kind_) ? device::Progress::kDone : device::Progress::kWouldBlock;
  }
  void checkStall() override {
    for (const Signals& wanted : wait_.wanted) {
      const std::optional<Error> gone = all_->whyGone(wanted.peer);
      // Its last signals may have come just before it left.
      if (gone && !all_->take({{wanted}}, kind_, true)) throw *gone;
    }
  }

 private:
  const Wait wait_;
};

void OneSided::enqueue(device::Stream& stream, Put put, Kind kind) {
  auto task = std::make_unique<PutTask>(shared_from_this(), kind, put);
  device::Scheduler::instance().enqueue(stream, *task.release());
}

void OneSided::enqueue(device::Stream& stream, Wait wait, Kind kind) {
  auto task = std::make_unique<WaitTask>(shared_from_this(), kind, std::move(wait));
  device::Scheduler::instance().enqueue(stream, *task.release());
}

void OneSided::drain() {
  device::Scheduler::instance().waitUntil(
      [this] { return outstanding_.load(std::memory_order_acquire) == 0; });
}

void OneSided::end() noexcept {
  ended_.store(true, std::memory_order_seq_cst);
  while (busy_.load(std::memory_order_seq_cst) > 0) std::this_thread::yield();
  if (controls_[static_cast<std::size_t>(rank_)] != nullptr)
    controlOf(rank_).ended.store(1, std::memory_order_release);
}

std::shared_ptr<OneSided> oneSidedOf(ncclComm& handle) {
  const std::lock_guard lock(handle.oneSidedMutex);
  return handle.oneSided;
}

const char* whyNotOneSided(const ncclComm& handle) {
  const comm::Communicator& communicator = *handle.impl;
  if (communicator.gpu() != nullptr) return "GPUs have none here";
  if (!communicator.config().oneSided) return "config.numRmaCtx is 0";
  return communicator.hosts() > 1 ? "its ranks are on several hosts" : nullptr;
}

}  // namespace xylem::api
