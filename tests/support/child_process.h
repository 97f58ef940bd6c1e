#pragma once
// A child process that ends with the object.
//
//   const ChildProcess server(hosts.start(1, serve));

#include <signal.h>

#include <utility>

#include "support/namespaces.h"

namespace xylem {

class ChildProcess {
 public:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  ~ChildProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitFor(pid_);
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace xylem
