#pragma once
// Two threads, each bound to a core, that sleep while there is no work. Probes and limits run on them.
//
//   CorePair pair(0, 1);
//   pair.run([&](int side) { side == 0 ? ping() : pong(); });   // returns when both have

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace xylem::bench {

class CorePair {
 public:
  CorePair(int first, int second);
  ~CorePair();
  CorePair(const CorePair&) = delete;
  CorePair& operator=(const CorePair&) = delete;

  void run(const std::function<void(int side)>& work);

 private:
  void serve(int side, int core);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  unsigned round_ = 0;
  int busy_ = 0;
  bool ended_ = false;
  std::thread threads_[2];
};

// The cores that this process may use, in ascending order.
std::vector<int> usableCores();

}  // namespace xylem::bench
