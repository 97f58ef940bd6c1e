#pragma once
// What a profiler is told of the steps that calls send and receive over the network: a ProxyOp event for each
// call's part in a queue, and below it a ProxyStep event for each step, from when it can go on its way until
// its slot is free again.
//
//   ProfiledQueues queues(profiler);                   // outlives the ends' pumps
//   queues.begin(sendEnd, {.call = event, .channel = 0, .steps = 12, .stepBytes = 4096});
//   ... 12 steps ...
//   queues.read(recvEnd);                              // of receives: all that has begun has been taken
//
// Steps are moved by whoever waits for them, or by the proxy's thread: events of one rank come one at a time,
// from any of these threads. A send's part may end long after its call.

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/plugins/profiler.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem {

class ProfiledQueue final : public StepObserver {
 public:
  ProfiledQueue(Profiler& profiler, std::mutex& mutex, const QueueControl& control, bool sends)
      : profiler_(profiler), mutex_(mutex), control_(control), sends_(sends) {}
  // Stops what never came to its end.
  ~ProfiledQueue() override;

  // The part's steps start with number `first`; none of those to be sent is there yet.
  void begin(const ProfiledPart& part, std::uint64_t first);
  void read();

  void posted(std::uint64_t step, std::size_t bytes) noexcept override;
  void moved(std::uint64_t step, std::size_t bytes) noexcept override;

 private:
  struct Part {
    void* event = nullptr;
    std::uint64_t first = 0, end = 0;
    // Steps below have been opened, posted, moved and closed.
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
  void closeUpTo(std::uint64_t end);
  void*& eventOf(std::uint64_t step) { return steps_[step % kQueueSteps]; }

  Profiler& profiler_;
  std::mutex& mutex_;
  const QueueControl& control_;
  const bool sends_;
  std::deque<Part> parts_;  // in the order of their steps; those that are closed are taken out
  std::array<void*, kQueueSteps> steps_{};
};

class ProfiledQueues {
 public:
  explicit ProfiledQueues(Profiler& profiler) : profiler_(profiler) {}

  // The end's next part.steps steps are the call's. Nothing where the end leads over no network.
  void begin(SendEnd& end, ProfiledPart part);
  void begin(RecvEnd& end, ProfiledPart part);
  void read(RecvEnd& end);

 private:
  template <typename End>
  void beginAt(End& end, ProfiledPart part, bool sends);

  Profiler& profiler_;
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<ProfiledQueue>> queues_;  // by end
};

}  // namespace xylem
