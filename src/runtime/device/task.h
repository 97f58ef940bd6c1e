#pragma once
// A piece of work in a stream, made of steps that never wait: a step that cannot go on returns kWouldBlock
// and is tried again later, so that one thread can advance many tasks.
//
//   struct Copy : Task {
//     Progress step() override { std::memcpy(to, from, bytes); return Progress::kDone; }
//     void finish(const Error*) noexcept override { delete this; }
//   };

#include "core/error.h"

namespace xylem::device {

enum class Progress {
  kDone,        // finished
  kAdvanced,    // did something; there may be more to do at once
  kWouldBlock,  // could do nothing; another rank or task has to act first
};

class Task {
 public:
  // Goes on as far as possible without waiting. An Error ends the task.
  virtual Progress step() = 0;
  // Called about every millisecond while step() returns kWouldBlock: may make system calls to find out
  // whether the task waits in vain. An Error ends the task.
  virtual void checkStall() {}
  // Whether all of it takes some ten microseconds at most, but for waiting: then a call of the program may run it before it goes on.
  virtual bool isBrief() const { return false; }
  // The last call: gives the task back to its owner. `error` is null if the task succeeded.
  virtual void finish(const Error* error) noexcept = 0;

 protected:
  ~Task() = default;

 private:
  friend class Stream;
  Task* next_ = nullptr;
};

}  // namespace xylem::device
