#pragma once
// While an object lives, what its process's descendants leave running becomes this process's own child:
// daemons that step back from who started them. In the end they are ended, with all other children that are
// new. For a thread that starts all processes.
//
//   const Orphans orphans;
//   ChildProcess(...)   // may start more

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "support/child_process.h"

namespace xylem {

class Orphans {
 public:
  Orphans() : before_(children()) { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Orphans() {
    // Each that ends may leave more.
    for (bool found = true; found;) {
      found = false;
      for (const pid_t child : children())
        if (!before_.contains(child)) {
          const ChildProcess ended(child);
          found = true;
        }
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

 private:
  static std::set<pid_t> children() {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", gettid()));
    std::set<pid_t> all;
    for (pid_t child; list >> child;) all.insert(child);
    return all;
  }

  const std::set<pid_t> before_;
};

}  // namespace xylem
