#pragma once
// A flag by which one thread asks others to stop waiting. It is raised once and never lowered. It has a file
// descriptor that can be polled together with sockets, so that a call that sleeps in poll(2) wakes at once.
//
//   AbortFlag abort;
//   auto bootstrap = Bootstrap::join(id, rank, ranks, settings, log, &abort);
//   abort.raise();                                       // in another thread: every waiting call throws

#include <atomic>

#include "core/file_descriptor.h"

namespace xylem::sockets {

class AbortFlag {
 public:
  AbortFlag();
  AbortFlag(const AbortFlag&) = delete;
  AbortFlag& operator=(const AbortFlag&) = delete;

  void raise() noexcept;
  bool raised() const noexcept { return raised_.load(std::memory_order_acquire); }
  // Stays readable once the flag is raised: nothing reads it empty.
  int fd() const { return event_.get(); }

 private:
  std::atomic<bool> raised_{false};
  FileDescriptor event_;
};

}  // namespace xylem::sockets
