#include "runtime/collectives/two_sides.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "core/address_space.h"

namespace xylem::collectives {

TwoSides::TwoSides(const device::CorePair& cores, Clock::time_point end)
    : end_(end), here_(cores.first), thread_([this, core = cores.second] { serve(core); }) {
  try {
    time([](int) {});
  } catch (...) {
    finish();
    throw;
  }
}

double TwoSides::time(const std::function<void(int)>& work) {
  work_ = &work;
  const std::uint32_t round = begun_.load(std::memory_order_relaxed) + 1;
  const Clock::time_point start = Clock::now();
  begun_.store(round, std::memory_order_release);
  run(work, 0);
  const auto done = [&] { return done_.load(std::memory_order_acquire) == round; };
  if (!await(done)) {
    // The other side uses what belongs to the caller.
    freeOther();
    while (!done()) std::this_thread::yield();
  }
  const double took = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (failure_) std::rethrow_exception(failure_);
  if (Clock::now() >= end_) throw OutOfTime();
  return took;
}

void TwoSides::run(const std::function<void(int)>& work, int side) noexcept {
  try {
    work(side);
  } catch (...) {
    // Only the first failure counts: the other side then fails because of it.
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
}

void TwoSides::serve(int core) noexcept {
  std::optional<device::OnCore> there;
  run([&](int) { there.emplace(core); }, 1);
  if (freed_.load()) there.reset();
  for (std::uint32_t round = 1;; ++round) {
    for (int spins = 0; begun_.load(std::memory_order_acquire) != round; ++spins) {
      if (ended_.load(std::memory_order_relaxed)) return;
      if (spins >= kSpins) std::this_thread::yield();
    }
    run(*work_, 1);
    done_.store(round, std::memory_order_release);
  }
}

// The other side may wait for a core that another program keeps, so it gets all cores.
void TwoSides::freeOther() {
  freed_.store(true);
  pthread_setaffinity_np(thread_.native_handle(), sizeof all_, &all_);
}

void TwoSides::finish() {
  ended_.store(true, std::memory_order_relaxed);
  freeOther();
  thread_.join();
}

cpu_set_t TwoSides::coresOfThread() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

SideBuffers::SideBuffers(TwoSides& sides, std::size_t bytes) : bytes_(bytes) {
  for (std::size_t side = 0; side < 2; ++side) {
    input_[side].reserve(bytes, 2 * side);
    output_[side].reserve(bytes, 2 * side + 1);
  }
  sides.time([&](int side) {
    for (std::byte* buffer : {input(side), output(side)}) std::memset(buffer, 0, bytes);
  });
}

SideBuffers::Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void SideBuffers::Buffer::reserve(std::size_t bytes, std::size_t colour) {
  data_ = reserveAddresses(bytes, colour);  // a multiple of 2 MiB
  bytes_ = bytes;
  if (data_ == nullptr || mprotect(data_, bytes, PROT_READ | PROT_WRITE) != 0)
    throw Error(ResultCode::kSystemError, "no memory to measure copies with: {}", errnoText(errno));
}

}  // namespace xylem::collectives
