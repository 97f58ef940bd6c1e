#pragma once
// Which objects the threads of this process are inside of, for those who end objects; to be inside costs a
// thread two plain stores.
//
//   UseMark* mark = UseMarks::ofThread().set(&object);    // null: this thread has no more; count instead
//   if (object.alive) ...                                 // looked at after the mark is set
//   mark->clear();
//
//   object.alive = false;                                 // who ends it
//   settleUseMarks();
//   while (isMarked(&object)) ...
//
// Either the one who marks sees that the object has ended, or the one who ends it sees the mark. That takes a
// barrier on both sides; where the kernel can run one on all threads of the process (membarrier), the one who
// ends runs it for all.

#include <array>
#include <atomic>

#include "core/per_thread.h"

namespace xylem {

// Whether settleUseMarks() is a barrier for all threads.
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
  // A call inside of another's group, and that one's communicators.
  static constexpr std::size_t kMarks = 4;
  std::array<UseMark, kMarks> marks_;
};

// From here on, threads that have not marked the object yet see what was written before.
void settleUseMarks();
// Whether any thread has marked it.
bool isMarked(const void* object);

}  // namespace xylem
