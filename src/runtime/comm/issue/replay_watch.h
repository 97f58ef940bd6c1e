#pragma once
// A thread that looks at the launches of a communicator that graphs have (captured_launch.h), every few milliseconds, for the errors
// that their replays may end with: the graph itself contains the kernel only, so that a replay costs no more than that.
//
//   ReplayWatch watch;
//   watch.add(captured);        // the thread starts with the first one
//   watch.remove(captured);     // returns when the thread does not look at it any more

#include <condition_variable>
#include <mutex>
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

  void add(CapturedLaunch& launch);
  void remove(CapturedLaunch& launch);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable ends_;
  bool isOver_ = false;
  std::vector<CapturedLaunch*> launches_;
  std::thread thread_;
};

}  // namespace xylem::comm
