#include "runtime/gpu/kernel_job.h"

#include <chrono>
#include <memory>
#include <thread>

#include "runtime/gpu/cpu_machine.h"
#include "runtime/gpu/kernel.h"
#include "support/patience.h"
#include "support/sanitizers.h"

namespace xylem::testing {
namespace {

// A waiter, movers that share slices, a poster.
constexpr int kWarps = 4;
constexpr std::chrono::seconds kDeadline{200};

// The queue of an end of the host.
template <typename End>
transport::QueueMemory memoryOf(const End& end) {
  transport::StepBytes steps{};
  for (const Protocol p : kAllProtocols) steps[p] = end.stepBytes(p);
  auto* const control = const_cast<transport::QueueControl*>(&end.control());
  return transport::queueIn(reinterpret_cast<std::byte*>(control), steps);
}

template <typename End>
std::vector<gpu::QueueEnd> endsOf(std::span<End* const> ends, Protocol protocol, const LocalCase& c,
                                  std::deque<std::uint64_t>& steps) {
  std::vector<gpu::QueueEnd> all;
  for (End* const end : ends) {
    gpu::QueueEnd& made = all.emplace_back();
    if (end == nullptr) continue;
    const transport::QueueMemory queue = memoryOf(*end);
    made = gpu::endOf(queue, protocol, end->peer(), &steps.emplace_back(end->nextStep()));
    made.references = c.byReference;
    if (c.places) made.offer = reinterpret_cast<std::uint64_t*>(&queue.control->offer);
  }
  return all;
}

}  // namespace

BlockPool& blockPool() {
  static BlockPool pool(kWarps);
  return pool;
}

void startBlock(const gpu::Work& work, std::atomic<long>* turns) {
  blockPool().start([shared = std::make_shared<gpu::Block>(), work, turns](FiberBlock& block, int thread) {
    CpuMachine machine(block, thread, turns);
    gpu::runBlock(machine, *shared, work);
  });
}

KernelJob::KernelJob(const LocalCase& c, const LocalJob& job, const IsOnHost& isOnHost) {
  for (const LocalJob::Part& part : job.parts()) {
    if (isOnHost && isOnHost(part.rank))
      onHost_.emplace_back().start(part.work);
    else
      addBlock(c, part);
  }
}

void KernelJob::addBlock(const LocalCase& c, const LocalJob::Part& part) {
  Launch& launch = launches_.emplace_back();
  launch.rank = part.rank;
  const collectives::ProgramWork& work = part.work;
  launch.from = endsOf(work.from, work.protocol, c, launch.steps);
  launch.to = endsOf(work.to, work.protocol, c, launch.steps);
  launch.work = gpu::workOf({.program = work.program.kind,
                             .shape = work.shape,
                             .input = work.buffers.input,
                             .output = work.buffers.output,
                             .scratch = work.buffers.scratch,
                             .type = c.type,
                             .op = c.op,
                             .reduction = work.reduction,
                             .protocol = work.protocol,
                             .mostBytes = work.mostBytes,
                             .from = launch.from,
                             .to = launch.to,
                             .abort = &abort_,
                             .report = &launch.report,
                             .refers = true,
                             .places = true,
                             .offers = true});
}

void KernelJob::startAll() {
  for (Launch& launch : launches_) {
    launch.report = {};
    startBlock(launch.work, &turnsLeft_);
  }
}

// Waits for the blocks; after the deadline it aborts them.
std::string KernelJob::awaitAll(const char* what) {
  if (blockPool().waitFor(kDeadline)) return "";
  __atomic_store_n(&abort_, 1u, __ATOMIC_RELAXED);
  return blockPool().waitFor(kDeadline) ? what : "blocks do not see the abort word";
}

std::string KernelJob::hostRuns() {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  std::vector<collectives::ProgramExecutor*> open;
  for (collectives::ProgramExecutor& executor : onHost_) open.push_back(&executor);
  while (!open.empty()) {
    const std::size_t removed = std::erase_if(open, [](collectives::ProgramExecutor* executor) {
      return executor->step() == device::Progress::kDone;
    });
    if (removed == 0) std::this_thread::yield();
    if (std::chrono::steady_clock::now() > deadline) return "the host is not done in time";
  }
  return "";
}

std::string KernelJob::run() {
  begunWith_ = 0;
  turnsLeft_ = 0;
  startAll();
  const std::string host = hostRuns();
  const std::string blocks = awaitAll("blocks are not done in time");
  if (!host.empty() || !blocks.empty()) return host + blocks;
  const int done = blocksWith(gpu::Outcome::kDone);
  if (done != static_cast<int>(launches_.size()))
    return std::to_string(done) + " of " + std::to_string(launches_.size()) + " blocks are done";
  return "";
}

std::string KernelJob::runAndAbort(long turns) {
  begunWith_ = turns;
  turnsLeft_ = turns;
  startAll();
  Patience patience;
  while (turnsLeft_.load(std::memory_order_relaxed) > 0 && !blockPool().waitFor(std::chrono::seconds(0)))
    patience.pause();
  __atomic_store_n(&abort_, 1u, __ATOMIC_RELAXED);
  if (!blockPool().waitFor(kDeadline)) return "blocks do not see the abort word";
  const int ended = blocksWith(gpu::Outcome::kDone) + blocksWith(gpu::Outcome::kAborted);
  return ended == static_cast<int>(launches_.size()) ? "" : "a block has another outcome";
}

const gpu::Report* KernelJob::reportOf(int rank) const {
  for (const Launch& launch : launches_)
    if (launch.rank == rank) return &launch.report;
  return nullptr;
}

int KernelJob::blocksWith(gpu::Outcome outcome) const {
  int n = 0;
  for (const Launch& launch : launches_) n += launch.report.outcome == outcome ? 1 : 0;
  return n;
}

}  // namespace xylem::testing
