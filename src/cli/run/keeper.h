#pragma once
// A process that waits for the end of `xylem run`, however that comes, and then kills what is left of the
// ranks: they and the processes that they started share a process group. Not even SIGKILL leaves orphans so.
//
//   RunKeeper keeper;          // before anything that a copy of this process should not have
//   keeper.watch(pid);         // a group's number
//                              // the destructor sends it home

#include <sys/types.h>

#include "core/file_descriptor.h"

namespace xylem::cli {

class RunKeeper {
 public:
  RunKeeper();
  ~RunKeeper();
  RunKeeper(const RunKeeper&) = delete;
  RunKeeper& operator=(const RunKeeper&) = delete;

  void watch(pid_t group);

 private:
  pid_t pid_ = -1;
  FileDescriptor pipe_;
};

}  // namespace xylem::cli
