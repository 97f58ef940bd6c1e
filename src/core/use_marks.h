#pragma once
// Hazard pointers: each thread marks the objects that it is using, so that a thread that ends an object can
// wait until none uses it. A mark costs two plain stores.
//
//   UseMark* mark = UseMarks::ofThread().set(&object);    // null: no mark is free; count uses instead
//   if (object.alive) ...                                 // read after the mark is set
//   mark->clear();
//
//   object.alive = false;                                 // in the thread that ends it
//   settleUseMarks();
//   while (isMarked(&object)) ...
//
// Either the marking thread sees that the object has ended, or the ending thread sees the mark. That needs a
// memory barrier on both sides. Where the kernel can run one on all threads of the process (membarrier), the
// ending thread does so, and marking needs none.

#include <array>
#include <atomic>

#include "core/per_thread.h"

namespace xylem {

// True if settleUseMarks() is a barrier for all threads.
extern const bool settlesForAll;

class UseMark {
 public:
  bool isFree() const { return object_.load(std::memory_order_relaxed) == nullptr; }
  bool isOn(const void* object) const { return object_.load(std::memory_order_seq_cst) == object; }
  void set(const void* object) {
    if (settlesForAll) {
      object_.store(object, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      object_.exchange(object, std::memory_order_seq_cst);
    }
  }
  void clear() { object_.store(nullptr, std::memory_order_release); }

 private:
  std::atomic<const void*> object_{nullptr};
};

class UseMarks {
 public:
  static UseMarks& ofThread() { return perThread<UseMarks>(); }
  UseMarks();
  ~UseMarks();
  UseMarks(const UseMarks&) = delete;
  UseMarks& operator=(const UseMarks&) = delete;

  UseMark* set(const void* object) {
    for (UseMark& mark : marks_) {
      if (!mark.isFree()) continue;
      mark.set(object);
      return &mark;
    }
    return nullptr;
  }
  bool isOn(const void* object) const;

 private:
  // Enough for a call inside of a group, and the communicators of the group.
  static constexpr std::size_t kMarks = 4;
  std::array<UseMark, kMarks> marks_;
};

// After it returns, a thread that has not marked the object yet sees what was written before the call.
void settleUseMarks();
// True if any thread has marked the object.
bool isMarked(const void* object);

}  // namespace xylem
