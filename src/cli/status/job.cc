#include "cli/status/job.h"

#include <algorithm>
#include <map>
#include <set>

namespace xylem::cli {
namespace {

bool isOver(const FlightEntry& entry) {
  return entry.state == FlightState::kDone || entry.state == FlightState::kFailed;
}

}  // namespace

std::uint64_t SeenRank::collectives() const {
  if (log.entries.empty()) return 0;
  const FlightEntry& last = log.entries.back();
  return last.ordinal + (isPointToPoint(last.call.function) ? 0 : 1);
}

const FlightEntry* SeenRank::current() const {
  // What is kept of a call that waits is less than its entry, if that is still there.
  const auto found = std::find_if(log.entries.begin(), log.entries.end(), [&](const FlightEntry& entry) {
    return log.waiting ? entry.number == log.waiting->number : !isOver(entry);
  });
  if (found != log.entries.end()) return &*found;
  return log.waiting ? &*log.waiting : nullptr;
}

const FlightEntry* SeenRank::collective(std::uint64_t ordinal) const {
  const auto found = std::find_if(log.entries.begin(), log.entries.end(), [&](const FlightEntry& entry) {
    return entry.ordinal == ordinal && !isPointToPoint(entry.call.function);
  });
  return found == log.entries.end() ? nullptr : &*found;
}

std::uint64_t SeenRank::waitNanoseconds() const {
  return log.wait == FlightWait::kNone ? 0 : clock.nanosecondsSince(log.waitsSince);
}

const SeenRank* SeenJob::find(int rank) const {
  const auto found =
      std::find_if(seen.begin(), seen.end(), [&](const SeenRank& r) { return r.log.rank == rank; });
  return found == seen.end() ? nullptr : &*found;
}

std::vector<SeenJob> jobsOf(const std::vector<SeenProcess>& processes) {
  std::map<std::uint64_t, SeenJob> jobs;
  for (const SeenProcess& process : processes)
    for (const FlightProcess& recorder : process.recorders)
      for (const FlightLog& log : recorder.communicators) {
        SeenJob& job = jobs[log.communicator];
        job.communicator = log.communicator;
        job.ranks = log.ranks;
        job.seen.push_back({log, FlightClock(recorder.start, process.seen), process.pid, process.program,
                            recorder.host, process.stopped()});
      }
  std::vector<SeenJob> all;
  for (auto& [_, job] : jobs) {
    std::sort(job.seen.begin(), job.seen.end(),
              [](const SeenRank& a, const SeenRank& b) { return a.log.rank < b.log.rank; });
    all.push_back(std::move(job));
  }
  // As people name them: the one with most ranks first.
  std::stable_sort(all.begin(), all.end(),
                   [](const SeenJob& a, const SeenJob& b) { return a.ranks > b.ranks; });
  return all;
}

const char* name(FindingKind kind) {
  switch (kind) {
    case FindingKind::kStopped:
      return "stopped";
    case FindingKind::kFailed:
      return "failed";
    case FindingKind::kDiffer:
      return "calls differ";
    case FindingKind::kNotCalled:
      return "not called";
    case FindingKind::kNotBegun:
      return "not begun";
    case FindingKind::kUnseen:
      return "not looked at";
    case FindingKind::kCycle:
      return "cycle";
  }
  return "";
}

}  // namespace xylem::cli
