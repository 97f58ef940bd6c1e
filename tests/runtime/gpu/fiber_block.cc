#include "runtime/gpu/fiber_block.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "runtime/gpu/machine.h"

#if defined(XYLEM_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(XYLEM_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

// The scheduler's own data is used by all fibers, which never run at the same time: the thread sanitizer must not look at it.
#if defined(XYLEM_THREAD_SANITIZER)
#define XYLEM_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define XYLEM_UNSEEN
#endif

#if defined(__x86_64__)
// Saves the registers that a function must keep on the stack and its address in *save, and goes on with those of another stack.
// (swapcontext does that, too, with two system calls.)
extern "C" void xylemSwitchStack(void** save, void* next);
asm(R"(
.text
.globl xylemSwitchStack
.hidden xylemSwitchStack
.type xylemSwitchStack,@function
xylemSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size xylemSwitchStack,.-xylemSwitchStack
)");
#endif

namespace xylem::testing {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
// After this number of pauses, of all its threads together, the block gives way.
constexpr int kPausesPerTurn = 8;

void releaseOrder([[maybe_unused]] void* object) {
#if defined(XYLEM_THREAD_SANITIZER)
  __tsan_release(object);
#endif
}
void acquireOrder([[maybe_unused]] void* object) {
#if defined(XYLEM_THREAD_SANITIZER)
  __tsan_acquire(object);
#endif
}

}  // namespace

struct FiberBlock::Fiber {
#if defined(__x86_64__)
  void* top = nullptr;  // of the stack, while it does not run
#else
  ucontext_t context;
#endif
  void* stack = nullptr;
  std::size_t stackBytes = 0;
  bool finished = true;
  const unsigned* watched = nullptr;  // it waits until this is not `seen` any more
  unsigned seen = 0;
  void* sanitizer = nullptr;  // the fiber, as the thread sanitizer knows it
};

struct FiberBlock::BarrierState {
  int arrived = 0;
  unsigned generation = 0;
  std::uint64_t order[2];  // its address is what the thread sanitizer knows a phase by
};

struct FiberBlock::Warp {
  std::uint64_t values[2][kLanes];
  int arrived = 0;
  unsigned generation = 0;
  std::uint64_t order[2];
};

namespace {
// The block and the thread that a fiber begins with.
thread_local FiberBlock* startingBlock = nullptr;
thread_local int startingThread = 0;
}  // namespace

FiberBlock::FiberBlock(int warps)
    : threads_(warps * kLanes),
      ownFibers_(new Fiber[static_cast<std::size_t>(threads_) + 1]),
      ownBarriers_(new BarrierState[gpu::kBarriers]),
      ownWarps_(new Warp[static_cast<std::size_t>(warps)]),
      fibers_(ownFibers_.get()),
      barriers_(ownBarriers_.get()),
      warps_(ownWarps_.get()) {
  for (int i = 0; i < threads_; ++i) {
    Fiber& fiber = fibers_[i];
    fiber.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber.stack == MAP_FAILED) throw std::bad_alloc();
    fiber.stackBytes = kStackBytes;
#if defined(XYLEM_THREAD_SANITIZER)
    fiber.sanitizer = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
    // As if xylemSwitchStack had been called at the beginning of enter().
    auto* top = reinterpret_cast<void**>(static_cast<std::byte*>(fiber.stack) + kStackBytes) - 8;
    for (int slot = 0; slot < 8; ++slot) top[slot] = nullptr;
    top[6] = reinterpret_cast<void*>(&FiberBlock::enter);
    fiber.top = top;
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &FiberBlock::enter, 0);
#endif
  }
}

FiberBlock::~FiberBlock() {
  for (int i = 0; i < threads_; ++i) {
#if defined(XYLEM_THREAD_SANITIZER)
    __tsan_destroy_fiber(fibers_[i].sanitizer);
#endif
#if defined(XYLEM_ADDRESS_SANITIZER)
    // A fiber ends in the middle of its calls, and its stack is still marked where other memory may be mapped next.
    __asan_unpoison_memory_region(fibers_[i].stack, fibers_[i].stackBytes);
#endif
    munmap(fibers_[i].stack, fibers_[i].stackBytes);
  }
}

XYLEM_UNSEEN void FiberBlock::start(Body body) {
  body_ = std::move(body);
  finished_ = pauses_ = next_ = 0;
  for (int i = 0; i < threads_; ++i) fibers_[i].finished = false;
  releaseOrder(&body_);
}

XYLEM_UNSEEN bool FiberBlock::resume() {
#if defined(XYLEM_THREAD_SANITIZER)
  fibers_[threads_].sanitizer = __tsan_get_current_fiber();
#endif
  switchTo(threads_, next_);
  if (finished_ < threads_) return false;
  acquireOrder(&finished_);
  body_ = nullptr;
  return true;
}

// A fiber's first function. It never returns.
XYLEM_UNSEEN void FiberBlock::enter() {
  FiberBlock* const block = startingBlock;
  const int self = startingThread;
#if defined(XYLEM_ADDRESS_SANITIZER)
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (block->fibers_[block->threads_].stackBytes == 0) {
    block->fibers_[block->threads_].stack = const_cast<void*>(bottom);
    block->fibers_[block->threads_].stackBytes = bytes;
  }
#endif
  block->loop(self);
}

XYLEM_UNSEEN void FiberBlock::loop(int self) {
  for (;;) {
    acquireOrder(&body_);
    body_(*this, self);
    releaseOrder(&finished_);
    finish(self);
  }
}

XYLEM_UNSEEN void FiberBlock::switchTo(int from, int to) {
  Fiber& last = fibers_[from];
  Fiber& next = fibers_[to];
  startingBlock = this;
  startingThread = to;
#if defined(XYLEM_ADDRESS_SANITIZER)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, next.stack, next.stackBytes);
#endif
#if defined(XYLEM_THREAD_SANITIZER)
  __tsan_switch_to_fiber(next.sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__x86_64__)
  xylemSwitchStack(&last.top, next.top);
#else
  swapcontext(&last.context, &next.context);
#endif
#if defined(XYLEM_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

// Runs the next fiber that can go on. Returns when this one's turn has come again.
XYLEM_UNSEEN void FiberBlock::giveWay(int self) {
  for (int i = 1, next = self; i <= threads_; ++i) {
    next = next + 1 == threads_ ? 0 : next + 1;
    Fiber& fiber = fibers_[next];
    if (fiber.finished || (fiber.watched != nullptr && *fiber.watched == fiber.seen)) continue;
    if (next != self) switchTo(self, next);
    return;
  }
  if (finished_ == threads_) return switchTo(self, threads_);
  std::fprintf(stderr, "the threads of a block wait for each other: %d of %d are done\n", finished_,
               threads_);
  for (int b = 0; b < gpu::kBarriers; ++b)
    std::fprintf(stderr, "  barrier %d: %d threads have arrived\n", b, barriers_[b].arrived);
  std::abort();
}

XYLEM_UNSEEN void FiberBlock::finish(int self) {
  fibers_[self].finished = true;
  ++finished_;
  giveWay(self);
}

XYLEM_UNSEEN void FiberBlock::awaitChange(int self, const unsigned& generation, unsigned seen) {
  Fiber& fiber = fibers_[self];
  fiber.watched = &generation;
  fiber.seen = seen;
  while (generation == seen) giveWay(self);
  fiber.watched = nullptr;
}

XYLEM_UNSEEN void FiberBlock::arrive(int, int barrier, int threads) {
  BarrierState& state = barriers_[barrier];
  pauses_ = 0;
  releaseOrder(&state.order[state.generation % 2]);
  if (++state.arrived < threads) return;
  state.arrived = 0;
  ++state.generation;
}

XYLEM_UNSEEN void FiberBlock::sync(int self, int barrier, int threads) {
  BarrierState& state = barriers_[barrier];
  const unsigned seen = state.generation;
  arrive(self, barrier, threads);
  if (state.generation == seen) awaitChange(self, state.generation, seen);
  acquireOrder(&state.order[seen % 2]);
}

XYLEM_UNSEEN const std::uint64_t* FiberBlock::exchange(int self, std::uint64_t value) {
  Warp& warp = warps_[self / kLanes];
  const unsigned seen = warp.generation;
  warp.values[seen % 2][self % kLanes] = value;
  if (++warp.arrived == kLanes) {
    warp.arrived = 0;
    ++warp.generation;
  } else {
    awaitChange(self, warp.generation, seen);
  }
  return warp.values[seen % 2];
}

XYLEM_UNSEEN void FiberBlock::syncWarp(int self) {
  Warp& warp = warps_[self / kLanes];
  std::uint64_t* const order = &warp.order[warp.generation % 2];
  releaseOrder(order);
  exchange(self, 0);
  acquireOrder(order);
}

XYLEM_UNSEEN void FiberBlock::pause(int self) {
  if (++pauses_ % kPausesPerTurn == 0) {
    next_ = self;
    switchTo(self, threads_);
  }
  giveWay(self);
}

}  // namespace xylem::testing
