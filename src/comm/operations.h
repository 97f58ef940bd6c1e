#pragma once
// The operations of one communicator on their way: tasks that are reused, run in the order they were issued
// whatever streams they are in, and notice when a rank they wait for is gone.
//
//   Operations operations(rank, links.channels(), links.connections(), policy, log);
//   scheduler.enqueue(stream, operations.allReduce(buffers, reduction));
//   operations.failure()   // set once an operation failed; all later ones fail with it

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/links.h"
#include "core/log.h"
#include "device/task.h"

namespace xylem {

// How long an operation may go without any progress.
struct Patience {
  std::chrono::seconds span{60};
  bool fails = false;  // past it: the operation fails, or only says in the log whom it waits for
};

class AllReduceTask;

class Operations {
 public:
  // `channels`: those of `links` that collectives use.
  Operations(int rank, Links& links, int channels, Patience patience, const Logger& log);
  ~Operations();
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  // A task ready to be enqueued, once. Throws the failure if there was one. One thread at a time.
  Task& allReduce(const RingBuffers& buffers, const Reduction& reduction);

  // Whether every task issued so far has finished.
  bool idle() const { return turn_.load(std::memory_order_acquire) == issued_; }
  std::optional<Error> failure() const;

 private:
  friend class AllReduceTask;
  // Keeps the first failure and tells all peers.
  void fail(const Error& error) noexcept;
  void giveBack(AllReduceTask& task) noexcept;

  const int rank_;
  Links& links_;
  const int channels_;
  const Patience patience_;
  const Logger& log_;

  std::uint64_t issued_ = 0;                        // tasks ever issued; the issuing thread's
  alignas(64) std::atomic<std::uint64_t> turn_{0};  // the number of the task that may run
  std::atomic<AllReduceTask*> returned_{nullptr};   // finished tasks, newest first
  std::atomic<bool> failed_{false};
  mutable std::mutex failureMutex_;
  std::optional<Error> failure_;
  AllReduceTask* free_ = nullptr;  // the issuing thread's
  std::vector<std::unique_ptr<AllReduceTask>> all_;
};

}  // namespace xylem
