#pragma once
// The wish of another thread that whoever waits stop waiting. Raised once, never lowered. It can be polled
// for together with sockets, so that a call that sleeps in poll(2) notices at once.
//
//   AbortFlag abort;
//   auto bootstrap = Bootstrap::join(id, rank, ranks, settings, log, &abort);
//   abort.raise();                                       // in another thread: every waiting call throws

#include <atomic>

#include "core/file_descriptor.h"

namespace xylem {

class AbortFlag {
 public:
  AbortFlag();
  AbortFlag(const AbortFlag&) = delete;
  AbortFlag& operator=(const AbortFlag&) = delete;

  void raise() noexcept;
  bool raised() const noexcept { return raised_.load(std::memory_order_acquire); }
  // Readable for ever once the flag is raised; nobody reads it.
  int fd() const { return event_.get(); }

 private:
  std::atomic<bool> raised_{false};
  FileDescriptor event_;
};

}  // namespace xylem
