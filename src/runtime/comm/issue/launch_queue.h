#pragma once
// The launches of one communicator: tasks that are reused, run in the order in which they were issued,
// whatever streams they are in, and fail together.
//
//   LaunchTask& launch = launches.next();
//   launch.take(work);
//   launches.issue(launch, stream);
//   launches.failure()   // set once one has failed; all later ones fail with it

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/comm/issue/launch_task.h"
#include "runtime/comm/issue/stall.h"
#include "runtime/comm/issue/work_item.h"

namespace xylem::comm {

class CallCheck;

class LaunchQueue {
 public:
  // `check`: null except in checked mode. `observer`: of the launches' items; null without a profiler.
  LaunchQueue(const StallPolicy& stallPolicy, FlightRecorder& recorder, CallCheck* check,
              ItemObserver* observer)
      : stallPolicy_(stallPolicy), recorder_(recorder), check_(check), observer_(observer) {}
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;

  // Before each launch, or what is done at once in place of one. A launch that waits for long asks whether a peer
  // has given up (stall.h); ranks that exchange data with each other only, and never wait for long, find out here:
  // the launches fail then. Only the issuing thread calls it.
  void askNowAndThen() {
    if (++calls_ % kLaunchesPerLook == 0) ask();
  }
  // A launch, to be filled and issued before the next call. If earlier launches have failed, it fails, too.
  // Only the issuing thread calls it.
  LaunchTask& next();
  // `lasting`: see Scheduler::enqueue.
  void issue(LaunchTask& launch, device::Stream& stream, bool lasting = false);

  // Whether every issued launch is over and holds back no stream.
  bool idle() const {
    return over_.load(std::memory_order_acquire) == issued_.load(std::memory_order_acquire);
  }
  // Once the launches have failed: whether none of them touches its buffers, now or later. Launches that have
  // not begun may still stand in streams, behind other work.
  bool quiet() const {
    return begun_.load(std::memory_order_seq_cst) == turn_.load(std::memory_order_acquire);
  }
  std::optional<Error> failure() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // The program has ended them itself, so their streams do not fail.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // A tuner plugin decides how collectives run, maybe differently on other ranks.
  void noteTuner() { tuned_ = true; }
  // The error with what a tuner plugin has to do with it; nothing if that is nothing.
  std::optional<Error> explained(const Error& error) const noexcept;
  // Keeps the first failure, logs it and tells all peers; the launches under way end with it.
  void fail(const Error& error) noexcept;
  // The same because the program asks for it: from any thread, and without a warning in the log.
  void cancel(const Error& error) noexcept;
  // After cancel(): returns when no peer uses this rank's buffers any more.
  void awaitPeers() noexcept;

  // Asks whether the ranks that the blocks of a kernel say they wait for are there, and fails the launches if not. Returns the
  // first of these ranks, which may be Executor::kNobody; nothing if no block waits, as while the kernel stands behind other work of its
  // stream. `comparing`: waits for calls of other ranks, in checked mode; otherwise null.
  std::optional<int> checkKernel(const gpu::KernelLaunch& kernel, Stall& stall,
                                 const CallCheck* comparing = nullptr) noexcept;

  // The rank behind an end of a queue, as the flight recorder has it: a network that reduces is none (Executor::kNobody).
  static int rankOf(int peer);

  // For launches. Sequential consistency here and in throwIfFailed(): either a launch that begins sees the
  // failure, or the thread that failed the launches sees that it has begun.
  void noteBegun() { begun_.fetch_add(1, std::memory_order_seq_cst); }
  void throwIfFailed() const {
    if (failed_.load(std::memory_order_seq_cst)) throwFailure();
  }
  bool isTurn(std::uint64_t number) const { return turn_.load(std::memory_order_acquire) == number; }
  void passTurn() noexcept { turn_.fetch_add(1, std::memory_order_acq_rel); }
  void giveBack(LaunchTask& launch) noexcept {
    putBack(launch);
    over_.fetch_add(1, std::memory_order_release);
  }
  const StallPolicy& stallPolicy() const { return stallPolicy_; }
  FlightRecorder& recorder() { return recorder_; }
  CallCheck* check() { return check_; }
  ItemObserver* observer() { return observer_; }

 private:
  // The clock is read at one launch of this many.
  static constexpr std::uint32_t kLaunchesPerLook = 32;
  void ask();
  [[noreturn]] void throwFailure() const;
  bool keepFailure(const Error& error, bool cancels = false) noexcept;
  void putBack(LaunchTask& launch) noexcept;

  const StallPolicy stallPolicy_;
  FlightRecorder& recorder_;
  CallCheck* const check_;
  ItemObserver* const observer_;
  bool tuned_ = false;

  std::atomic<std::uint64_t> issued_{0};            // launches ever issued
  alignas(64) std::atomic<std::uint64_t> turn_{0};  // the number of the launch that may run
  std::atomic<std::uint64_t> begun_{0};             // launches that were at the front of their stream
  std::atomic<std::uint64_t> over_{0};              // launches given back
  std::atomic<LaunchTask*> returned_{nullptr};      // finished ones, newest first
  std::atomic<bool> failed_{false}, cancelled_{false};
  mutable std::mutex failureMutex_;
  std::optional<Error> failure_;
  // The issuing thread's:
  std::uint32_t calls_ = 0;                        // of askNowAndThen()
  std::chrono::steady_clock::time_point asked_{};  // when the peers' watch was asked last
  LaunchTask* free_ = nullptr;
  std::vector<std::unique_ptr<LaunchTask>> all_;
};

}  // namespace xylem::comm
