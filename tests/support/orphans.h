#pragma once
// While an object of this class lives, processes that lose their parent become children of this process if
// they descend from it: daemons, for example. Its destructor ends them, with all other new children. For a
// thread that starts all processes.
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
    // The end of each may leave more orphans.
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
