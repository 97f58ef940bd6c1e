#pragma once
// Who this process is in a job that a launcher started (xylem run, mpirun, mpiexec, srun, torchrun), and the
// id by which its ranks meet, without linking MPI. Link with libxylem.
//
//   const xylem::Launch launch = xylem::Launch::find();
//   cudaSetDevice(launch.localRank());
//   const ncclUniqueId id = launch.uniqueId();
//   ncclCommInitRank(&comm, launch.size(), id, launch.rank());
//
// docs/launchers.md says which variables are read, and by which way the id reaches the processes.

#include <nccl.h>

#include <stdexcept>
#include <string>

#include "xylem/export.h"

namespace xylem {

/// What the launcher says contradicts itself, or the id cannot be passed round. what() says what to set.
class XYLEM_EXPORT LaunchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~LaunchError() override;
};

/// This process's place in its job.
class XYLEM_EXPORT Launch {
 public:
  /// Looks at the environment. Without a launcher this is process 0 of 1. Throws LaunchError.
  static Launch find();

  /// From 0 to size() less 1.
  int rank() const { return rank_; }
  /// Processes of the job.
  int size() const { return size_; }
  /// Among those of this host: the device to take.
  int localRank() const { return localRank_; }
  /// Processes of the job on this host.
  int localSize() const { return localSize_; }
  /// The variable that gave rank(), such as `OMPI_COMM_WORLD_RANK`; empty without a launcher.
  const std::string& variable() const { return variable_; }

  /// The id of the job's communicator, the same in all its processes. All of them call it, once, before they
  /// have threads that read the environment; waits for the others, XYLEM_TIMEOUT seconds at most where the
  /// launcher does not see to that. Throws LaunchError.
  ncclUniqueId uniqueId() const;

 private:
  Launch() = default;
  int rank_ = 0;
  int size_ = 1;
  int localRank_ = 0;
  int localSize_ = 1;
  std::string variable_;
  bool knowsHost_ = true;
};

}  // namespace xylem
