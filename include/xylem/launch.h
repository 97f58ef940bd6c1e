#pragma once
// This process's place in a job that a launcher started (xylem run, mpirun, mpiexec, srun, torchrun), and the
// id of the job's communicator, without linking MPI. Link with libxylem.
//
//   const xylem::Launch launch = xylem::Launch::find();
//   cudaSetDevice(launch.localRank());
//   ncclComm_t comm;
//   ncclCommInitRank(&comm, launch.size(), launch.uniqueId(), launch.rank());
//
// docs/launchers.md says which variables are read, and how the id reaches the processes.

#include <nccl.h>

#include <stdexcept>
#include <string>

#include "xylem/export.h"

namespace xylem {

/// The launcher's variables contradict each other, or the id cannot be passed on. The text says what to set.
class XYLEM_EXPORT LaunchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~LaunchError() override;
};

/// This process's place in its job.
class XYLEM_EXPORT Launch {
 public:
  /// Reads the environment. Without a launcher this is process 0 of 1. Throws LaunchError.
  static Launch find();

  /// This process: from 0 to size() - 1.
  int rank() const { return rank_; }
  /// The number of processes of the job.
  int size() const { return size_; }
  /// This process among those of its host, from 0: the device to use.
  int localRank() const { return localRank_; }
  /// The number of processes of the job on this host.
  int localSize() const { return localSize_; }
  /// The variable that gave rank(), such as `OMPI_COMM_WORLD_RANK`; empty without a launcher.
  const std::string& variable() const { return variable_; }

  /// The id of the job's communicator, the same in all its processes. Each of them calls this once, before it
  /// has threads that read the environment. Waits for the others, for at most XYLEM_TIMEOUT seconds if the
  /// launcher has no time-out of its own. Throws LaunchError.
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
