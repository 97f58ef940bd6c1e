#include "comparison/rank_loop.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace xylem::bench {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::int64_t kStartEvery = 8000;  // nanoseconds

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Waits for the instant at which the other ranks begin, too, and returns it. Ranks leave a barrier one after
// another, by as much as a small operation takes: who leaves first depends on the library, and a root that does
// so is ahead. So each rank, right after a barrier, waits for the next full kStartEvery of the clock, which is one
// for all processes of a machine. If one passes while they leave, ranks take different ones: a median does not see
// that, as they leave within a fraction of kStartEvery if each has a core.
std::int64_t commonStart() {
  const std::int64_t start = (now() / kStartEvery + 1) * kStartEvery;
  while (now() < start) {
  }
  return start;
}

// Times that another program has taken this thread's core until now.
std::uint64_t preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

class Rank {
 public:
  explicit Rank(Engine& engine) : engine_(engine) {}

  Reply obey(const Command& command) {
    const Case c{command.operation, engine_.ranks(), command.bytes, command.inPlace != 0};
    Reply reply;
    switch (command.kind) {
      case Command::kJoin:
        engine_.join(command.id);
        engine_.barrier();
        break;
      case Command::kPrepare:
        prepare(command.bytes);
        break;
      case Command::kRun:
        run(c, command, reply);
        break;
      case Command::kRunApart:
        reply.apart = runApart(c, command);
        break;
      case Command::kCheck:
        reply.wrong = check(c, command);
        break;
      case Command::kQuit:
        break;
    }
    return reply;
  }

 private:
  using Buffer = std::unique_ptr<float, std::function<void(float*)>>;

  Buffer allocate(std::size_t bytes) {
    if (bytes == 0) return {};
    return {static_cast<float*>(engine_.allocate(bytes)), [this](float* old) { engine_.release(old); }};
  }

  void prepare(std::size_t bytes) {
    in_.reset();
    out_.reset();
    in_ = allocate(bytes);
    out_ = allocate(bytes);
    for (std::uint64_t i = 0; i < bytes / sizeof(float); ++i) in_.get()[i] = inputValue(engine_.rank(), i);
    if (bytes > 0) std::memset(out_.get(), 0, bytes);
  }

  // Results in place become the next inputs. Zeros remain zeros, but at the root of a Reduce, where values grow.
  const float* inputOf(const Case& c) const {
    const std::optional<std::uint64_t> place = ownPlace(c, engine_.rank());
    return place ? out_.get() + *place : in_.get();
  }

  // Takes each line of the input into this core's caches alone, as a program does that computes it.
  void rewrite(const Case& c) {
    constexpr std::uint64_t kLine = 64 / sizeof(float);
    volatile float* const input = const_cast<float*>(inputOf(c));
    for (std::uint64_t i = 0; i < c.inputElements(engine_.rank()); i += kLine) input[i] = input[i];
  }

  void repeat(const Case& c, const Command& command, std::uint32_t times) {
    if (command.rewrites == 0)
      return engine_.repeat(c, inputOf(c), out_.get(), times, command.pipelined != 0);
    for (std::uint32_t i = 0; i < times; ++i) {
      rewrite(c);
      engine_.repeat(c, inputOf(c), out_.get(), 1, false);
    }
  }

  void run(const Case& c, const Command& command, Reply& reply) {
    repeat(c, command, command.warmUps);
    engine_.barrier();
    const std::uint64_t preempted = preemptions();
    reply.begin = now();
    repeat(c, command, command.iterations);
    reply.end = now();
    reply.preempted = preemptions() - preempted;
    // An answer wakes the driver, which must not take a core from a rank that is still measuring.
    engine_.barrier();
  }

  // Nothing of an iteration overlaps with the next one.
  std::int64_t runApart(const Case& c, const Command& command) {
    std::vector<std::int64_t> times;
    for (std::uint32_t i = 0; i < command.iterations; ++i) {
      if (command.rewrites != 0) rewrite(c);
      engine_.barrier();
      const std::int64_t begin = command.together != 0 ? commonStart() : now();
      engine_.repeat(c, inputOf(c), out_.get(), 1, false);
      times.push_back(now() - begin);
    }
    engine_.barrier();
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return times.empty() ? 0 : *middle;
  }

  std::uint64_t check(const Case& c, const Command& command) {
    makeStale(c, out_.get());
    if (const std::optional<std::uint64_t> place = ownPlace(c, engine_.rank()))
      std::copy_n(in_.get(), c.count(), out_.get() + *place);
    engine_.barrier();
    repeat(c, command, 1);
    const std::uint64_t wrong = countWrong(c, engine_.rank(), out_.get());
    engine_.barrier();
    std::fill_n(out_.get(), c.elements(), 0.0f);
    return wrong;
  }

  Engine& engine_;
  Buffer in_, out_;
};

void setText(Reply& reply, std::string_view text) {
  text.copy(reply.text.data(), std::min(text.size(), reply.text.size() - 1));
}

Reply failure(const std::exception& error) {
  Reply reply;
  reply.failed = 1;
  setText(reply, error.what());
  return reply;
}

}  // namespace

void* Engine::allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
  if (memory == nullptr) throw Error(ResultCode::kSystemError, "there are no {} bytes of memory", bytes);
  return memory;
}

void Engine::release(void* memory) { std::free(memory); }

void serve(Engine& engine, const ControlSocket& driver) {
  const auto answer = [&](Reply reply) {
    reply.rank = engine.rank();
    driver.send(reply);
  };
  try {
    Rank rank(engine);
    Reply hello;
    if (engine.rank() == 0) {
      hello.id = engine.newId();
      setText(hello, engine.version());
    }
    answer(hello);
    for (Command command; driver.receive(command) && command.kind != Command::kQuit;)
      answer(rank.obey(command));
  } catch (const std::exception& error) {
    answer(failure(error));
    std::_Exit(1);  // the other ranks of this process wait for this one, perhaps for ever
  }
}

void pinTo(std::span<const int> cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw Error(ResultCode::kSystemError, "cannot stay on core {}: {}", cores[0], errnoText(errno));
}

void endWithParent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace xylem::bench
