#pragma once
// Operations of one rank on the memory of another one, which takes no part (ncclPutSignal, ncclSignal, ncclWaitSignal),
// between ranks of one host.
//
//   std::shared_ptr<OneSided> all = oneSidedOf(handle);   // null before the first such call, which all ranks make
//   all->enqueue(queue, OneSided::Put{.peer = 1, .from = data, .bytes = bytes, .window = ordinal}, OneSided::kDirect);
//   all->enqueue(queue, OneSided::Wait{{{.peer = 0, .count = 1}}}, OneSided::kDirect);
//
// Each rank has control memory, a file in memory that all ranks map: where its windows are, and a counter of each rank's signals.
// A put copies into the peer's window, which this rank maps when it first needs it, and then adds 1 to its counter on the
// peer's control memory, with release order; a wait looks at its own with acquire order. Graphs have counters of their
// own: a captured wait sees captured signals alone.
//
// Threads: any may enqueue; the steps run on the streams. Steps never wait: a put whose peer has not yet registered the
// window is tried again, and so is a wait.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/file_descriptor.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/windows.h"
#include "runtime/cuda_api/ipc.h"
#include "runtime/device/stream.h"
#include "runtime/device/task.h"

namespace xylem::api {

class OneSided : public std::enable_shared_from_this<OneSided> {
 public:
  enum Kind : std::size_t { kDirect, kCaptured, kKinds };
  struct Put {
    int peer = 0;
    const std::byte* from = nullptr;  // null: a signal alone
    std::size_t bytes = 0;
    std::uint64_t window = 0;  // its number in the order of registration
    std::size_t offset = 0;
  };
  struct Signals {
    int peer = 0;
    std::uint64_t count = 0;
  };
  struct Wait {
    std::vector<Signals> wanted;  // at most one entry for each peer
  };

  // All ranks do this together. Throws Error, on all ranks, if one cannot map the control memory of another.
  explicit OneSided(comm::Communicator& communicator);
  ~OneSided();
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  // Tells the peers of a window of this rank. Throws Error if there are too many.
  void publish(const Window& window);
  void withdraw(std::uint64_t ordinal);

  void enqueue(device::Stream& stream, Put put, Kind kind);
  void enqueue(device::Stream& stream, Wait wait, Kind kind);

  // Waits until all that was enqueued is done.
  void drain();
  // The first failure of an operation; nothing if none failed, or only because of end().
  std::optional<Error> failure() const;
  // Operations that are enqueued fail, here and on the ranks that wait for this one. Returns when no step is under way.
  void end() noexcept;

 private:
  struct Control;
  class Operation;
  class Busy;
  class PutTask;
  class WaitTask;

  Control& controlOf(int rank) const;
  std::atomic<std::uint64_t>& counter(int owner, int source, Kind kind) const;
  // The memory to which a put copies, mapped as long as the result lives; null: the peer has not registered the window
  // yet. Throws Error.
  std::shared_ptr<std::byte> find(const Put& put);
  void signal(int peer, Kind kind);
  void keepFailure(const Error& error) noexcept;
  // Takes the signals if all are there, or only says whether they are.
  bool take(const Wait& wait, Kind kind, bool onlyLook = false);
  // Says why the rank will never signal again; nothing if it may.
  std::optional<Error> whyGone(int rank) const;

  const int rank_, ranks_;
  FileDescriptor file_;
  std::vector<std::shared_ptr<std::byte>> controls_;  // by rank
  std::atomic<int> outstanding_{0};
  std::atomic<int> busy_{0};  // steps under way
  std::atomic<bool> ended_{false};
  mutable std::mutex mutex_;  // of all that follows
  std::optional<Error> failure_;
  std::array<std::vector<std::uint64_t>, kKinds> taken_;  // signals that waits have consumed, by source
  std::map<std::pair<int, std::uint64_t>, std::shared_ptr<std::byte>>
      mapped_;  // windows of other processes' ranks
};

// Null before the first one-sided call.
std::shared_ptr<OneSided> oneSidedOf(ncclComm& handle);
// The reason why a communicator is without one-sided operations; null if it has them.
const char* whyNotOneSided(const ncclComm& handle);

}  // namespace xylem::api
