#pragma once
// Tells a profiler what calls do once they have been issued: when they are at work on a channel, the steps that they send
// and receive over the network; and what the progress thread does.
//
// A call at work on a channel is a KernelCh event. Each part of a call in a queue is a ProxyOp event. Below it each step is a
// ProxyStep event, from when it can be sent until its slot is free again.
//
//   ProfiledQueues queues(profiler);                   // outlives the ends' pumps
//   void* const work = queues.enter(event, 0, hostClock());
//   queues.begin(sendEnd, {.call = event, .channel = 0, .steps = 12, .stepBytes = 4096}, ProfiledQueues::MovedBy::kHost);
//   ... 12 steps ...
//   queues.read(recvEnd);                              // for receives: all steps have been read
//   queues.leave(work, hostClock());
//
// Steps are moved by a thread that waits for them or by the proxy. The events of one rank's channels and steps come one at a
// time, from any of these threads. A send's part may end long after its call.

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "runtime/plugins/profiler.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem::plugins {

class ProfiledQueue final : public transport::StepObserver {
 public:
  ProfiledQueue(Profiler& profiler, std::mutex& mutex, const transport::QueueControl& control, bool sends)
      : profiler_(profiler), mutex_(mutex), control_(control), sends_(sends) {}
  // Stops events of parts that never ended.
  ~ProfiledQueue() override;

  // The part has the steps from number `first` on. A send has put none of its steps into the queue yet.
  void begin(const ProfiledPart& part, std::uint64_t first);
  void read();

  void posted(std::uint64_t step, std::size_t bytes) noexcept override;
  void moved(std::uint64_t step, std::size_t bytes) noexcept override;

 private:
  struct Part {
    void* event = nullptr;
    std::uint64_t first = 0, end = 0;
    // Steps below these have been opened, posted, moved and closed.
    std::uint64_t opened = first, posted = first, moved = first, closed = first;
    std::size_t bytesPosted = 0, bytesMoved = 0;

    bool over() const { return closed == end; }
    abi::ProxyOpProgress progress(std::uint64_t upTo, std::size_t bytes) const {
      return {bytes, static_cast<int>(upTo - first)};
    }
  };
  Part* partOf(std::uint64_t step);
  void openUpTo(std::uint64_t end);
  void post(Part& part, std::uint64_t step, std::size_t bytes);
  void move(Part& part, std::uint64_t step, std::size_t bytes);
  void receiveUpTo(std::uint64_t end);
  void closeUpTo(std::uint64_t end);
  void*& eventOf(std::uint64_t step) { return steps_[step % transport::kQueueSteps]; }

  Profiler& profiler_;
  std::mutex& mutex_;
  const transport::QueueControl& control_;
  const bool sends_;
  std::deque<Part> parts_;  // open ones, in the order of their steps
  std::array<void*, transport::kQueueSteps> steps_{};
};

class ProfiledQueues {
 public:
  explicit ProfiledQueues(Profiler& profiler) : profiler_(profiler) {}
  // Stops events of work that never ended.
  ~ProfiledQueues();
  ProfiledQueues(const ProfiledQueues&) = delete;
  ProfiledQueues& operator=(const ProfiledQueues&) = delete;

  // A call began its work on a channel at this time, in nanoseconds: the event for leave(), or null if the profiler does not want to
  // know.
  void* enter(void* call, int channel, std::uint64_t time);
  void leave(void* work, std::uint64_t time);
  // kHost: this process moves the steps of a part, and the end knows its next step. kGpu: a kernel does; the parts of an end follow each
  // other from step 0 on, so each has to be begun, before its kernel is launched.
  enum class MovedBy { kHost, kGpu };
  // The next part.steps steps of the end belong to the call. Does nothing if the end is not on a network, or another rank's thread
  // moves its steps.
  void begin(transport::SendEnd& end, ProfiledPart part, MovedBy by);
  void begin(transport::RecvEnd& end, ProfiledPart part, MovedBy by);
  void read(transport::RecvEnd& end);
  // A graph has works of this communicator's GPU: from now on replays move steps, too, and parts of kernels get no events.
  void foregoKernels();

 private:
  template <typename End>
  void beginAt(End& end, ProfiledPart part, bool sends, MovedBy by);
  std::optional<std::uint64_t> firstOfKernel(const void* end, int steps);
  ProfiledQueue* known(const void* end);

  Profiler& profiler_;
  std::mutex mutex_;
  std::set<void*> working_;  // events between enter() and leave()
  std::mutex known_;         // guards queues_, which never lose any: on GPUs parts begin while others end
  std::map<const void*, std::unique_ptr<ProfiledQueue>> queues_;  // by end
  std::map<const void*, std::uint64_t> nextOfKernels_;  // by end: the step after the parts begun until now
  bool foregoesKernels_ = false;
};

// Each time the progress thread finds work, finds none, goes to sleep or wakes up is a ProxyCtrl event, which
// ends at once.
class ProfiledEngine final : public transport::EngineObserver {
 public:
  explicit ProfiledEngine(const Profiler& profiler) : profiler_(profiler) {}
  void turned(transport::EngineState state) noexcept override {
    void* const event = profiler_.startProxyControl();
    profiler_.record(event, stateOf(state));
    profiler_.stop(event);
  }

 private:
  static abi::ProfiledState stateOf(transport::EngineState state) {
    switch (state) {
      case transport::EngineState::kActive:
        return abi::kProxyCtrlActive;
      case transport::EngineState::kIdle:
        return abi::kProxyCtrlIdle;
      case transport::EngineState::kAsleep:
        return abi::kProxyCtrlSleep;
      case transport::EngineState::kAwake:
        return abi::kProxyCtrlWakeup;
    }
    return abi::kProxyCtrlIdle;
  }

  const Profiler& profiler_;
};

// A profiler and what tells it about the network. Outlives the queues and the progress thread that it
// observes.
struct Profiling {
  explicit Profiling(std::unique_ptr<Profiler> of)
      : profiler(std::move(of)), engine(*profiler), queues(*profiler) {}
  const std::unique_ptr<Profiler> profiler;
  ProfiledEngine engine;
  ProfiledQueues queues;
};

}  // namespace xylem::plugins
