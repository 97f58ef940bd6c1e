#pragma once
// Groups that repeat. A program often makes the same group in each of its steps, such as a send to one neighbour and a receive from the
// other, or a call outside of groups, which is a group of its own. While an open group is like one of the last few of the thread, its calls are
// only compared and counted, and its end launches the operations of that one again.
//
//   RepeatedGroups::begin();                        // an outermost ncclGroupStart
//   if (RepeatedGroups::counts(call)) return;       // ncclSend in it; otherwise it adds the call to the group, and calls note()
//   if (RepeatedGroups::launches()) return;         // ncclGroupEnd; otherwise it ends the group, and lets that fill toFill()
//   if (RepeatedGroups::repeats(call)) return;      // a call outside of groups; otherwise it launches the call, and calls keep()
//
// All else that asks about the open group calls stop() first, which adds the counted calls to it. The group's end says what is wrong with
// them by then, such as a communicator that another thread has aborted. Whether a stream is captured is asked at the end, too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/per_thread.h"
#include "runtime/api/data_call.h"
#include "runtime/comm/issue/group.h"
#include "runtime/cuda_api/cuda_stream.h"

namespace xylem::api {

class RepeatedGroups {
 public:
  ~RepeatedGroups() {
    counting = nullptr;
    isOver = true;
  }

  static void begin() {
    if (!isOver) ofThread().count();
  }
  // Whether the call is the next one of a group that is known.
  static bool counts(const DataCall& call) { return counting != nullptr && counting->countsNext(call); }
  // Whether all calls were those of that group, whose operations are launched. Throws what the launch throws; the group is over then, too.
  static bool launches() { return counting != nullptr && counting->launchesCounted(); }
  static void stop() {
    if (counting != nullptr) counting->addCounted();
  }

  // A call that is added to the open group.
  static void note(const DataCall& call) {
    if (!isOver) ofThread().note(call.comm, call.stream);
  }
  // The same, of one whose like is not repeated.
  static void noteOther() {
    if (!isOver) ofThread().alike_ = false;
  }
  // Where the end of the group puts what it launches; null if such a group is not repeated.
  static comm::LaunchedGroup* toFill() { return isOver ? nullptr : ofThread().launchedByOpen(); }

  // Outside of groups: whether the call was made before, and is launched again.
  static bool repeats(const DataCall& call) { return !isOver && ofThread().launchesAlone(call); }
  // A call that was launched as this operation.
  static void keep(const DataCall& call, const comm::CommOperation& operation) {
    if (!isOver && ofThread().isWorthKeeping()) ofThread().keepAlone(call, operation);
  }

 private:
  struct Known {
    comm::LaunchedGroup launched;  // if it has a communicator
    ncclComm_t comm = nullptr;     // of all calls
    cudaStream_t stream = nullptr;
    std::weak_ptr<const void> alive;  // expires with the communicator
  };
  static constexpr std::size_t kMost = 4;
  // While no call outside of groups repeats, one of this many is kept: to keep each adds an eighth to the instructions of the shortest ones. It
  // is a prime, so that calls which take turns are kept one after the other.
  static constexpr std::uint32_t kSeldom = 17;

  static RepeatedGroups& ofThread() { return perThread<RepeatedGroups>(); }
  void count() {
    noted_ = counted_ = 0;
    alike_ = true;
    counting = this;
  }
  // The known group that begins with the call. `alone`: and has no other one.
  Known* find(const DataCall& call, bool alone) {
    for (std::size_t tried = 0; tried < kMost; ++tried) {
      const std::size_t i = (now_ + tried) % kMost;
      Known& known = known_[i];
      if (known.launched.communicator == nullptr || known.comm != call.comm || known.stream != call.stream ||
          !isFrom(call, known.launched.operations.front()) || known.alive.expired())
        continue;
      if (alone && known.launched.operations.size() > 1) continue;
      now_ = i;
      return &known;
    }
    return nullptr;
  }
  bool countsNext(const DataCall& call) {
    if (counted_ == 0) {
      if (find(call, false) == nullptr) counting = nullptr;
    } else {
      const Known& known = known_[now_];
      const auto& operations = known.launched.operations;
      if (counted_ == operations.size() || call.comm != known.comm || call.stream != known.stream ||
          !isFrom(call, operations[counted_]))
        addCounted();
    }
    if (counting == nullptr) return false;
    ++counted_;
    return true;
  }
  bool launchesAlone(const DataCall& call) {
    Known* const known = find(call, true);
    cuda_api::CudaStream* const stream = known == nullptr ? nullptr : streamOfAll(*known);
    if (stream == nullptr) {
      ++missed_;
      return false;
    }
    missed_ = 0;
    launch(*known, *stream, call.name);
    return true;
  }
  bool isWorthKeeping() const { return missed_ <= kMost || missed_ % kSeldom == 0; }
  comm::LaunchedGroup* launchedByOpen() { return noted_ > 0 && alike_ ? &known_[now_].launched : nullptr; }
  void keepAlone(const DataCall& call, const comm::CommOperation& operation);
  static cuda_api::CudaStream* streamOfAll(const Known& known);
  static void launch(Known& known, cuda_api::CudaStream& stream, const char* function);
  Known& replaceOne(ncclComm_t comm, cudaStream_t stream);
  bool launchesCounted();
  void addCounted();
  void note(ncclComm_t comm, cudaStream_t stream);

  // The thread's, while its open group is like a known one.
  static XYLEM_THREAD_LOCAL RepeatedGroups* counting;
  // The thread ends, and what it has kept is gone: destructors may still make calls.
  static XYLEM_THREAD_LOCAL bool isOver;

  std::array<Known, kMost> known_;
  std::size_t now_ = 0;  // the one that was found or replaced last
  std::size_t counted_ = 0;
  std::size_t noted_ = 0;     // calls of the open group
  bool alike_ = true;         // they have one communicator and one stream
  std::uint32_t missed_ = 0;  // calls outside of groups since one that was known
};

inline XYLEM_THREAD_LOCAL RepeatedGroups* RepeatedGroups::counting = nullptr;
inline XYLEM_THREAD_LOCAL bool RepeatedGroups::isOver = false;

}  // namespace xylem::api
