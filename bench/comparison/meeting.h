#pragma once
// A barrier of two threads that own a core each: they spin.

#include <atomic>

namespace xylem::bench {

class Meeting {
 public:
  void meet(int side) {
    Side& mine = sides_[side];
    const unsigned n = mine.come.load(std::memory_order_relaxed) + 1;
    mine.come.store(n, std::memory_order_release);
    while (static_cast<int>(sides_[1 - side].come.load(std::memory_order_acquire) - n) < 0) {
    }
  }

 private:
  struct Side {
    alignas(128) std::atomic<unsigned> come{0};
  };
  Side sides_[2];
};

}  // namespace xylem::bench
