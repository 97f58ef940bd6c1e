#pragma once
// A piece of work in a stream, made of steps that never wait: a step that cannot go on says so and is tried
// again, so that one thread can advance many tasks.
//
//   struct Copy : Task {
//     Progress step() override { std::memcpy(to, from, bytes); return Progress::kDone; }
//     void finish(const Error*) noexcept override { delete this; }
//   };

#include "core/error.h"

namespace xylem {

enum class Progress {
  kDone,        // finished
  kAdvanced,    // went on a bit; there may be more to do at once
  kWouldBlock,  // nothing could be done; somebody else has to act first
};

class Task {
 public:
  // Goes on as far as possible without waiting. An Error ends the task.
  virtual Progress step() = 0;
  // Called now and then while step() says kWouldBlock, about every millisecond: may make system calls to find
  // out whether what it waits for can still come. An Error ends the task.
  virtual void checkStall() {}
  // The last call: gives the task back to its owner. `error` is null if all went well.
  virtual void finish(const Error* error) noexcept = 0;

 protected:
  ~Task() = default;

 private:
  friend class Stream;
  Task* next_ = nullptr;
};

}  // namespace xylem
