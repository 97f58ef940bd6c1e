#include "runtime/comm/issue/group.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "runtime/device/scheduler.h"

namespace xylem::comm {
namespace {

// How long the ranks of a group wait for each other's queues, before each waits for itself.
constexpr std::chrono::seconds kPatience{5};

struct Batch {
  Communicator* communicator = nullptr;
  std::vector<CommOperation> operations;
};

struct BackgroundWork {
  Communicator* communicator = nullptr;
  std::function<void()> work;
};

// Everything that one thread has asked for since the outermost groupStart.
struct Group {
  std::optional<Error> failure;
  std::vector<Batch> batches;  // in the order in which the communicators were first used, until order()
  std::size_t used = 0;        // of `batches`; the others keep their memory for the next group
  std::vector<BackgroundWork> jobs;
  std::optional<bool> blocking;  // CommConfig::blocking of its communicators

  void clear() {
    for (std::size_t i = 0; i < used; ++i) batches[i].operations.clear();
    used = 0;
    jobs.clear();
    failure.reset();
    blocking.reset();
  }
};

Group& group() { return perThread<Group>(); }

void requireSameBlocking(Group& g, const Communicator& communicator) {
  const bool blocking = communicator.config().blocking;
  if (g.blocking && *g.blocking != blocking)
    throw Error(
        ResultCode::kInvalidArgument,
        "a group has communicators that block and others that do not (ncclConfig_t.blocking); all must "
        "be alike");
  g.blocking = blocking;
}

// The jobs of several communicators wait for each other, so each gets a thread.
void runTogether(std::vector<BackgroundWork>& jobs) {
  std::vector<std::exception_ptr> errors(jobs.size());
  std::vector<std::jthread> threads;  // join, also if not all can be started
  const auto run = [&](std::size_t i) {
    try {
      jobs[i].work();
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  for (std::size_t i = 1; i < jobs.size(); ++i) threads.emplace_back(run, i);
  run(0);
  threads.clear();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

bool runJobs(std::vector<BackgroundWork>& jobs) {
  if (jobs.empty()) return false;
  if (jobs.front().communicator->config().blocking) {
    runTogether(jobs);
    return false;
  }
  for (BackgroundWork& job : jobs) job.communicator->background(std::move(job.work));
  return true;
}

// Ranks of this thread connect their sends and receives with each other, which takes steps of both. launch() then waits for
// ranks of other threads only, and says which one does not come. A rank that connects in the background is not waited for.
void prepareTogether(Group& g) {
  if (g.used < 2) return;
  const Deadline deadline = Deadline::after(kPatience);
  device::Backoff backoff(device::Scheduler::instance().policy());
  for (bool all = false; !all && !deadline.passed();) {
    all = true;
    for (std::size_t i = 0; i < g.used; ++i) {
      Communicator& communicator = *g.batches[i].communicator;
      const std::vector<CommOperation>& operations = g.batches[i].operations;
      all = (communicator.prepare(operations) || communicator.connectsLater(operations)) && all;
    }
    if (!all) backoff.pause();
  }
}

// The works of several ranks are staged before the first one is launched: to take memory of a GPU may wait for a kernel that waits for
// the other ranks of this thread.
class Staging {
 public:
  Staging() = default;
  // A failure may have kept some from their launch.
  ~Staging() {
    for (Communicator* const communicator : staged_) communicator->unstage();
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void stage(Group& g) {
    if (g.used < 2) return;
    for (std::size_t i = 0; i < g.used; ++i)
      if (g.batches[i].communicator->stage(g.batches[i].operations))
        staged_.push_back(g.batches[i].communicator);
  }

 private:
  std::vector<Communicator*> staged_;
};

// The memory of the operations goes to the other side, too, so that neither allocates.
void give(Batch& batch, LaunchedGroup& launched) {
  Communicator& communicator = *batch.communicator;
  launched.communicator = &communicator;
  launched.operations.swap(batch.operations);
  launched.work = communicator.lastWork();
}

// Communicators whose ranks name them in different orders, in one stream, would wait for each other. So all ranks launch them in the same order.
void order(Group& g) {
  const auto used = std::span(g.batches).first(g.used);
  const auto id = [](const Batch& batch) { return batch.communicator->number(); };
  if (!std::ranges::is_sorted(used, {}, id)) std::ranges::stable_sort(used, {}, id);
}

// Drops what the group has gathered when it ends, also if it fails.
class Ending {
 public:
  explicit Ending(Group& g) : group_(g) {}
  ~Ending() { group_.clear(); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  Group& group_;
};

Group& leave(const char* function) {
  if (openGroups == 0)
    throw Error(ResultCode::kInvalidUsage, "{} without ncclGroupStart before it", function);
  --openGroups;
  return group();
}

}  // namespace

void groupStart() { ++openGroups; }

void failGroup(const Error& error) {
  Group& g = group();
  if (openGroups > 0 && !g.failure) g.failure = error;
}

bool groupHasFailed() { return group().failure.has_value(); }

void launchAgain(LaunchedGroup& group) {
  group.communicator->launch(group.operations, group.work);
  group.work = group.communicator->lastWork();
  device::Scheduler::limit(*group.operations.front().stream);
}

bool groupEnd(LaunchedGroup* launched) {
  Group& g = leave("ncclGroupEnd");
  if (openGroups > 0) return false;
  const Ending ending(g);
  if (g.failure) throw Error(*g.failure);
  bool continues = runJobs(g.jobs);
  order(g);
  prepareTogether(g);
  Staging staging;
  staging.stage(g);
  for (std::size_t i = 0; i < g.used; ++i) {
    Communicator& communicator = *g.batches[i].communicator;
    communicator.launch(g.batches[i].operations);
    continues = continues || (!*g.blocking && communicator.state() == CommState::kInProgress);
  }
  // Only now: each of the communicators may wait for another one.
  for (std::size_t i = 0; i < g.used; ++i) device::Scheduler::limit(*g.batches[i].operations.front().stream);
  if (launched != nullptr && g.used == 1) give(g.batches.front(), *launched);
  return continues;
}

float groupSimulateEnd() {
  Group& g = leave("ncclGroupSimulateEnd");
  if (openGroups > 0) return 0;
  const Ending ending(g);
  if (g.failure) throw Error(*g.failure);
  float time = 0;
  for (std::size_t i = 0; i < g.used; ++i)
    time = std::max(time, g.batches[i].communicator->predict(g.batches[i].operations));
  return time;
}

void addToGroup(Communicator& communicator, const CommOperation& operation) {
  Group& g = group();
  std::size_t i = 0;
  while (i < g.used && g.batches[i].communicator != &communicator) ++i;
  if (i == g.used) {
    requireSameBlocking(g, communicator);
    if (g.used == g.batches.size()) g.batches.emplace_back();
    g.batches[g.used++].communicator = &communicator;
  }
  g.batches[i].operations.push_back(operation);
}

bool submitJob(Communicator& communicator, std::function<void()> work) {
  if (openGroups > 0) {
    Group& g = group();
    requireSameBlocking(g, communicator);
    g.jobs.push_back({&communicator, std::move(work)});
    return !communicator.config().blocking;
  }
  if (communicator.config().blocking) {
    work();
    return false;
  }
  communicator.background(std::move(work));
  return true;
}

}  // namespace xylem::comm
