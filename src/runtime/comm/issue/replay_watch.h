#pragma once
// A thread that looks at the launches of a communicator that graphs have (captured_launch.h), now and then, for the errors that their
// replays may end with: the graph itself contains the kernel only, so that a replay costs no more than that. A program may have
// thousands of them. A look reads what the blocks report, in memory of the host; the driver is asked once for all.
//
//   ReplayWatch watch;
//   watch.add(captured);        // the thread starts with the first one
//   watch.remove(captured);     // returns when the thread does not look at it any more

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace xylem::comm {

class CapturedLaunch;

class ReplayWatch {
 public:
  ReplayWatch() = default;
  ~ReplayWatch();
  ReplayWatch(const ReplayWatch&) = delete;
  ReplayWatch& operator=(const ReplayWatch&) = delete;

  // Until it is removed, or seen to be unused.
  void add(CapturedLaunch& launch);
  void remove(CapturedLaunch& launch);

 private:
  void loop();
  bool lookAtAll(std::unique_lock<std::mutex>& lock);
  void forget(std::span<const CapturedLaunch* const> gone);

  std::mutex mutex_;
  std::condition_variable changed_;  // isOver_, or launches_ was empty
  std::condition_variable looked_;   // at the batch
  bool isOver_ = false;
  std::vector<CapturedLaunch*> launches_;
  std::size_t next_ = 0;                // of launches_: the first one at which this pass has not looked
  std::vector<CapturedLaunch*> batch_;  // at which the thread looks, without the lock
  std::vector<const CapturedLaunch*> unused_;  // of the batch; the thread's own
  std::thread thread_;
};

}  // namespace xylem::comm
