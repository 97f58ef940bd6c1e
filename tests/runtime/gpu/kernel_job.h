#pragma once
// The parts of a LocalJob as blocks of the kernel: each program of each rank and channel is a block. Some ranks may be executed
// by the host device instead, over the same queues.
//
//   LocalJob job(c, random);
//   KernelJob kernel(c, job);
//   ASSERT_EQ(kernel.run(), "");
//   ASSERT_EQ(job.mismatch(), "");

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "runtime/collectives/local_job.h"
#include "runtime/gpu/block.h"
#include "runtime/gpu/block_pool.h"

namespace xylem::testing {

class KernelJob {
 public:
  using IsOnHost = std::function<bool(int rank)>;
  KernelJob(const LocalCase& c, const LocalJob& job, const IsOnHost& isOnHost = {});

  // Runs all blocks, and the executors of ranks on the host. Returns an error, or nothing.
  std::string run();
  // The same; sets the abort word after this number of turns of all blocks together. Returns an error if a block does not end.
  std::string runAndAbort(long turns);
  // The last report of a block of the rank; null if it has none.
  const gpu::Report* reportOf(int rank) const;
  // Blocks that have this outcome.
  int blocksWith(gpu::Outcome outcome) const;
  // Turns of all blocks in the last run.
  long turns() const { return begunWith_ - turnsLeft_.load(); }

 private:
  struct Launch {
    int rank = 0;
    gpu::Work work;
    std::vector<gpu::QueueEnd> from, to;
    std::deque<std::uint64_t> steps;
    gpu::Report report;
  };
  void addBlock(const LocalCase& c, const LocalJob::Part& part);
  void startAll();
  std::string hostRuns();
  std::string awaitAll(const char* what);

  std::deque<Launch> launches_;
  std::deque<collectives::ProgramExecutor> onHost_;
  std::uint32_t abort_ = 0;
  long begunWith_ = 0;
  std::atomic<long> turnsLeft_{0};
};

// The pool that all tests of a process share.
BlockPool& blockPool();
// Starts a block of it.
void startBlock(const gpu::Work& work, std::atomic<long>* turns = nullptr);

}  // namespace xylem::testing
