#include "runtime/comm/watch/wait_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace xylem::comm {
namespace {

bool waitsForPeer(const SeenRank& rank) {
  return rank.stuck() && rank.log.waitsFor >= 0 && !rank.log.joining && !rank.log.failed && !rank.stopped;
}

// Whether `peer` has begun the call in which `waiter` waits for it: then it is at work there, or done.
bool hasBegun(const SeenRank& peer, const SeenRank& waiter) {
  const CallRecord* const call = waiter.current();
  if (call == nullptr || isPointToPoint(call->call.function)) {
    const CallRecord* const own = peer.current();
    return own != nullptr && own->state == CallState::kStarted;
  }
  if (peer.collectives() <= call->ordinal) return false;
  const CallRecord* const own = peer.collective(call->ordinal);
  return own == nullptr || own->state != CallState::kIssued;
}

bool sameDevice(const SeenRank& a, const SeenRank& b) {
  return a.pid == b.pid && a.host == b.host && a.log.device == b.log.device;
}

class CycleSearch {
 public:
  CycleSearch(std::span<const SeenJob> jobs, const WaitStep& start) : jobs_(jobs), start_(start) {}

  std::optional<WaitCycle> find() {
    if (!follow(start_)) return std::nullopt;
    return WaitCycle{std::move(path_)};
  }

 private:
  // Follows the waits from `at` on until the start comes up again. Then the path is the cycle.
  bool follow(const WaitStep& at) {
    if (!waitsForPeer(*at.rank) || !seen_.insert(at.rank).second) return false;
    path_.push_back(at);
    for (const WaitStep& next : after(at))
      if (next == start_ || follow(next)) return true;
    path_.pop_back();
    return false;
  }

  // The waits that hold up this one.
  std::vector<WaitStep> after(const WaitStep& at) const {
    const SeenRank* const peer = at.job->find(at.rank->log.waitsFor);
    if (peer == nullptr || peer->log.failed || peer->stopped) return {};
    if (waitsForPeer(*peer)) return {{at.job, peer}};
    std::vector<WaitStep> next;
    if (hasBegun(*peer, *at.rank)) return next;
    for (const SeenJob& job : jobs_)
      for (const SeenRank& other : job.seen)
        if (&job != at.job && waitsForPeer(other) && sameDevice(other, *peer)) next.push_back({&job, &other});
    return next;
  }

  std::span<const SeenJob> jobs_;
  const WaitStep start_;
  std::set<const SeenRank*> seen_;
  std::vector<WaitStep> path_;
};

// The step that comes first in a text: that of the lowest rank, so that all ranks tell the cycle alike.
bool tellsFirst(const WaitStep& a, const WaitStep& b) {
  return std::tuple(a.rank->log.rank, a.job->communicator, a.rank->pid) <
         std::tuple(b.rank->log.rank, b.job->communicator, b.rank->pid);
}

std::string callText(const WaitStep& step) {
  const CallRecord* const call = step.rank->current();
  return call == nullptr ? "" : describe(call->call);
}

std::string textWithin(std::span<const WaitStep> steps) {
  std::vector<std::string> parts;
  for (const WaitStep& step : steps) {
    const std::string call = callText(step);
    parts.push_back(fmt::format("rank {} for rank {}{}", step.rank->log.rank, step.rank->log.waitsFor,
                                call.empty() ? "" : " in " + call));
  }
  return fmt::format("ranks wait for each other: {}", fmt::join(parts, "; "));
}

std::string textAcross(std::span<const WaitStep> steps, std::size_t communicators) {
  std::string text = fmt::format("ranks wait for each other over {} communicators: ", communicators);
  int called = -1;  // the rank that the step before waits for
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const WaitStep& step = steps[i];
    const SeenRank& rank = *step.rank;
    if (i == 0)
      text += fmt::format("rank {} (process {}) ", rank.log.rank, rank.pid);
    else if (rank.log.rank == called)
      text += fmt::format(" (process {}), which ", rank.pid);
    else
      text += fmt::format(" (process {}), which, as rank {}, ", rank.pid, rank.log.rank);
    const std::string call = callText(step);
    text += fmt::format("waits in communicator {:#x}{} for rank {}", step.job->communicator,
                        call.empty() ? "" : ", in " + call + ",", rank.log.waitsFor);
    called = rank.log.waitsFor;
  }
  return text + fmt::format(
                    " (process {}); all ranks must make their calls on these communicators in the same order",
                    steps.front().rank->pid);
}

}  // namespace

std::size_t WaitCycle::communicators() const {
  std::set<std::uint64_t> all;
  for (const WaitStep& step : steps) all.insert(step.job->communicator);
  return all.size();
}

std::string WaitCycle::text() const {
  std::vector<WaitStep> told = steps;
  std::rotate(told.begin(), std::min_element(told.begin(), told.end(), tellsFirst), told.end());
  const std::size_t several = communicators();
  return several == 1 ? textWithin(told) : textAcross(told, several);
}

std::vector<WaitCycle> waitCycles(std::span<const SeenJob> jobs) {
  std::vector<WaitCycle> cycles;
  std::set<const SeenRank*> members;
  for (const SeenJob& job : jobs)
    for (const SeenRank& rank : job.seen) {
      if (members.contains(&rank)) continue;
      std::optional<WaitCycle> cycle = CycleSearch(jobs, {&job, &rank}).find();
      if (!cycle) continue;
      for (const WaitStep& step : cycle->steps) members.insert(step.rank);
      cycles.push_back(std::move(*cycle));
    }
  return cycles;
}

std::optional<WaitCycle> waitCycleOf(std::span<const SeenJob> jobs, std::uint64_t communicator, int rank) {
  for (const SeenJob& job : jobs)
    if (job.communicator == communicator)
      if (const SeenRank* const own = job.find(rank)) return CycleSearch(jobs, {&job, own}).find();
  return std::nullopt;
}

}  // namespace xylem::comm
