#pragma once
// Two threads that do something at the same time, each on a core of its own, to measure it, and the buffers that they use.
//
//   TwoSides sides(cores, end);
//   SideBuffers buffers(sides, bytes);
//   const double microseconds = sides.time([&](int side) { sides.goOn([&] { return exchange(side, buffers.input(side)); }); });

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

#include "core/error.h"
#include "runtime/device/core_pair.h"

namespace xylem::collectives {

// Thrown when the time that TwoSides has is over.
struct OutOfTime {};

// The caller is side 0, another thread side 1.
class TwoSides {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws Error (ncclSystemError) if one of them may not run on its core.
  TwoSides(const device::CorePair& cores, Clock::time_point end);
  ~TwoSides() { finish(); }
  TwoSides(const TwoSides&) = delete;
  TwoSides& operator=(const TwoSides&) = delete;

  // Runs `work(side)` on both sides; returns the microseconds until both are done. Throws what a side has thrown first, and OutOfTime.
  double time(const std::function<void(int)>& work);

  // Calls `step` until it returns true; throws if the other side has failed, and OutOfTime.
  template <typename Step>
  void goOn(Step&& step) const {
    const bool inTime = await([&] {
      if (failed_.load(std::memory_order_relaxed))
        throw Error(ResultCode::kInternalError, "the other side has failed");
      return step();
    });
    if (!inTime) throw OutOfTime();
  }

 private:
  static constexpr int kSpins = 10000;  // before the core is offered to others

  // Returns false if time has run out before.
  template <typename Condition>
  bool await(Condition&& condition) const {
    for (int spins = 0; !condition(); ++spins) {
      if (spins < kSpins) continue;
      if (Clock::now() >= end_) return false;
      std::this_thread::yield();
    }
    return true;
  }

  void run(const std::function<void(int)>& work, int side) noexcept;
  void serve(int core) noexcept;
  void freeOther();
  void finish();

  static cpu_set_t coresOfThread();

  const Clock::time_point end_;
  const cpu_set_t all_ = coresOfThread();  // before it is kept on one
  const device::OnCore here_;
  const std::function<void(int)>* work_ = nullptr;
  alignas(128) std::atomic<std::uint32_t> begun_{0};
  alignas(128) std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> ended_{false}, freed_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

// An input and an output of each side, which touches its own, so that they lie near it. They hold zeros.
//
// The kernel locks a part of the page table, which is for 2 MiB of addresses, for each page that it reads through. Two processes have two
// page tables. The buffers of these two threads lie in parts of their own, so that one side does not wait for the other: with a part in
// common, reads took up to three times as long.
class SideBuffers {
 public:
  SideBuffers(TwoSides& sides, std::size_t bytes);
  std::size_t bytes() const { return bytes_; }
  std::byte* input(int side) const { return input_[side].data(); }
  std::byte* output(int side) const { return output_[side].data(); }

 private:
  class Buffer {
   public:
    Buffer() = default;
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void reserve(std::size_t bytes, std::size_t colour);
    std::byte* data() const { return data_; }

   private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
  };

  const std::size_t bytes_;
  Buffer input_[2], output_[2];
};

}  // namespace xylem::collectives
