#include "cli/status/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/number_ranges.h"
#include "runtime/comm/watch/wait_cycle.h"

namespace xylem::cli {
namespace {

using comm::SeenJob;
using comm::SeenRank;

std::string secondsText(std::uint64_t nanoseconds) {
  return fmt::format("{:.1f} s", static_cast<double>(nanoseconds) / 1e9);
}

// The ranks of `job` in the cycle, ascending.
std::vector<int> ranksOf(const comm::WaitCycle& cycle, const SeenJob& job) {
  std::set<int> ranks;
  for (const comm::WaitStep& step : cycle.steps)
    if (step.job == &job) ranks.insert(step.rank->log.rank);
  return {ranks.begin(), ranks.end()};
}

std::string lastCallText(const SeenRank& rank) {
  const comm::CallRecord* last = rank.lastCall();
  if (last == nullptr) return "it has called nothing so far";
  comm::TextLine line;
  comm::describe(line, *last, rank.clock);
  return fmt::format("its last call: {}", line.text());
}

// Finds what is wrong with a communicator from the last calls of its ranks. The checks run from certain
// causes (a stopped process, a failure, calls that differ) to guesses from who waits for whom; a cycle of
// waits is only reported if nothing else explains it.
class Examination {
 public:
  explicit Examination(const SeenJob& job) : job_(job) {}

  std::vector<Finding> findings() {
    stopped();
    failed();
    joining();
    differences();
    sharedStreams();
    lateComers();
    transfers();
    replays();
    unseen();
    if (!explained_) cycle();
    if (!explained_) queued();
    return std::move(findings_);
  }

 private:
  void add(FindingKind kind, std::vector<int> ranks, std::string text) {
    findings_.push_back({kind, std::move(ranks), std::move(text)});
    explained_ = true;
  }

  void stopped() {
    for (const SeenRank& rank : job_.seen)
      if (rank.stopped)
        add(FindingKind::kStopped, {rank.log.rank},
            fmt::format(
                "rank {}'s process {} is stopped, by a signal or a debugger (kill -CONT {} lets it go on)",
                rank.log.rank, rank.pid, rank.pid));
  }

  // One finding for all ranks that failed for the same reason.
  void failed() {
    std::map<std::string, std::vector<int>> reasons;
    for (const SeenRank& rank : job_.seen)
      if (rank.log.failed) reasons[rank.log.reason].push_back(rank.log.rank);
    for (const auto& [reason, ranks] : reasons)
      add(FindingKind::kFailed, ranks, fmt::format("{} failed: {}", rankRanges(ranks), reason));
  }

  // Ranks that wait while the communicator is made: for ranks that do not make it, or for a step of it.
  void joining() {
    std::vector<int> waiting, seen, missing;
    std::uint64_t longest = 0;
    std::string step;
    for (const SeenRank& rank : job_.seen) {
      seen.push_back(rank.log.rank);
      if (!rank.log.joining || !rank.stuck()) continue;
      waiting.push_back(rank.log.rank);
      if (rank.waitNanoseconds() <= longest) continue;
      longest = rank.waitNanoseconds();
      step = rank.log.joinsAt;
    }
    if (waiting.empty()) return;
    for (int rank = 0; rank < job_.ranks; ++rank)
      if (!std::binary_search(seen.begin(), seen.end(), rank)) missing.push_back(rank);
    const std::string wait = fmt::format("{} {}, for {}: {}", rankRanges(waiting),
                                         waiting.size() == 1 ? "joins" : "join", secondsText(longest), step);
    if (missing.empty()) return add(FindingKind::kJoining, waiting, wait);
    const bool one = missing.size() == 1;
    add(FindingKind::kNotJoined, missing,
        fmt::format("{}; {} {} not joining on this host: {} not called ncclCommInitRank yet, {} ended, or {} "
                    "elsewhere",
                    wait, rankRanges(missing), one ? "is" : "are", one ? "it has" : "they have",
                    one ? "has" : "have", one ? "runs" : "run"));
  }

  // The first collective in the recorders that ranks call differently.
  void differences() {
    std::map<std::uint64_t, std::vector<std::pair<int, comm::CallSignature>>> calls;
    for (const SeenRank& rank : job_.seen)
      for (const comm::CallRecord& entry : rank.log.entries)
        if (!isPointToPoint(entry.call.function)) calls[entry.ordinal].push_back({rank.log.rank, entry.call});
    for (const auto& [ordinal, all] : calls) {
      const comm::CallSignature& first = all.front().second;
      const bool same =
          std::all_of(all.begin(), all.end(), [&](const auto& call) { return call.second == first; });
      if (same) continue;
      std::vector<std::pair<std::string, std::vector<int>>> groups;
      std::vector<int> ranks;
      for (const auto& [rank, call] : all) {
        const std::string text = comm::describe(call);
        auto group =
            std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == text; });
        if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
        group->second.push_back(rank);
        ranks.push_back(rank);
      }
      std::vector<std::string> parts;
      for (const auto& [text, members] : groups) parts.push_back(rankRanges(members) + ": " + text);
      return add(FindingKind::kDiffer, ranks,
                 fmt::format("the ranks do not call the same as collective #{}: {}", ordinal,
                             fmt::join(parts, "; ")));
    }
  }

  // A stream does one call after the other: a rank whose call waits for one behind it, of another rank, waits for ever.
  void sharedStreams() {
    for (const SeenRank& rank : job_.seen) {
      const comm::CallRecord* mine = rank.current();
      const SeenRank* const peer = job_.find(rank.log.waitsFor);
      const comm::CallRecord* theirs = peer == nullptr ? nullptr : peer->current();
      if (!rank.stuck() || mine == nullptr || theirs == nullptr || peer->stuck()) continue;
      if (mine->stream == 0 || peer->pid != rank.pid || theirs->stream != mine->stream) continue;
      // A call may have begun before the other one came into the stream. It may also just be under way, but not for long.
      if (theirs->state != comm::CallState::kIssued && rank.waitNanoseconds() < kQueuedNanoseconds) continue;
      sharing_.insert(peer->log.rank);
      add(FindingKind::kNotBegun, {rank.log.rank, peer->log.rank},
          fmt::format(
              "rank {} waits for rank {}, whose {} stands behind its own in the same stream: ranks of "
              "one device need a stream each, or one group for their calls",
              rank.log.rank, peer->log.rank, comm::describe(theirs->call)));
    }
  }

  // The ranks that are not in the oldest collective in which a rank is stuck.
  void lateComers() {
    const comm::CallRecord* oldest = nullptr;
    for (const SeenRank& rank : job_.seen) {
      const comm::CallRecord* current = rank.current();
      if (!rank.stuck() || current == nullptr || isPointToPoint(current->call.function)) continue;
      if (oldest == nullptr || current->ordinal < oldest->ordinal) oldest = current;
    }
    if (oldest == nullptr) return;
    const std::string what = fmt::format("collective #{}, {}", oldest->ordinal, comm::describe(oldest->call));
    for (const SeenRank& rank : job_.seen) {
      if (rank.log.failed) continue;
      if (rank.collectives() <= oldest->ordinal) {
        add(FindingKind::kNotCalled, {rank.log.rank},
            fmt::format("rank {} has not called {}; {}", rank.log.rank, what, lastCallText(rank)));
        continue;
      }
      if (sharing_.contains(rank.log.rank)) continue;
      const comm::CallRecord* own = rank.collective(oldest->ordinal);
      if (own != nullptr && own->state == comm::CallState::kIssued && !rank.stuck())
        add(FindingKind::kNotBegun, {rank.log.rank},
            fmt::format("rank {} has called {}, {} ago, but not begun it: something before it in its stream, "
                        "or another stream of its group, is not done",
                        rank.log.rank, what, secondsText(rank.clock.nanosecondsSince(own->issued))));
    }
  }

  // Sends and receives that wait for a partner: whether there is one, and whether it fits. If ranks wait for
  // each other, the cycle says more than a missing partner of each of them.
  void transfers() {
    std::vector<Finding> missing;
    for (const SeenRank& rank : job_.seen) {
      const comm::CallRecord* mine = rank.current();
      if (!rank.stuck() || mine == nullptr || !isPointToPoint(mine->call.function)) continue;
      for (const comm::CallRecord& entry : rank.log.entries)
        if (entry.launch == mine->launch && isPointToPoint(entry.call.function) &&
            entry.state != comm::CallState::kDone && entry.call.peer == rank.log.waitsFor)
          partnerOf(rank, entry, missing);
    }
    if (explained_) return;
    cycle();
    if (explained_) return;
    for (Finding& finding : missing) add(finding.kind, std::move(finding.ranks), std::move(finding.text));
  }

  void partnerOf(const SeenRank& rank, const comm::CallRecord& mine, std::vector<Finding>& missing) {
    const SeenRank* peer = job_.find(mine.call.peer);
    if (peer == nullptr || peer->log.failed) return;
    const Function wanted = mine.call.function == Function::kSend ? Function::kRecv : Function::kSend;
    const auto partner =
        std::find_if(peer->log.entries.begin(), peer->log.entries.end(), [&](const comm::CallRecord& entry) {
          return entry.call.function == wanted && entry.call.peer == rank.log.rank &&
                 entry.state != comm::CallState::kDone;
        });
    if (partner == peer->log.entries.end()) {
      missing.push_back(
          {FindingKind::kNotCalled,
           {peer->log.rank},
           fmt::format("rank {} waits in its {}, but rank {} has no {} for it under way; {}", rank.log.rank,
                       comm::describe(mine.call), peer->log.rank, name(wanted), lastCallText(*peer))});
      return;
    }
    const bool fits = partner->call.count == mine.call.count && partner->call.type == mine.call.type;
    if (!fits && (rank.log.rank < peer->log.rank || !peer->stuck()))
      add(FindingKind::kDiffer, {rank.log.rank, peer->log.rank},
          fmt::format("send and receive do not fit: rank {}: {}; rank {}: {}", rank.log.rank,
                      comm::describe(mine.call), peer->log.rank, comm::describe(partner->call)));
  }

  // GPUs run graphs again without any call, so nothing tells which ranks have. Ranks that wait themselves are no cause.
  void replays() {
    for (const SeenRank& rank : job_.seen) {
      if (rank.log.wait != comm::WaitKind::kReplay || !rank.stuck()) continue;
      const SeenRank* const peer = job_.find(rank.log.waitsFor);
      if (peer == nullptr || peer->stuck() || peer->log.failed || peer->stopped) continue;
      add(FindingKind::kNotCalled, {peer->log.rank},
          fmt::format("rank {} waits for rank {} in a replay of a graph, for {}: has rank {} replayed its "
                      "graph, and as often?",
                      rank.log.rank, peer->log.rank, secondsText(rank.waitNanoseconds()), peer->log.rank));
    }
  }

  // Ranks that others wait for and that were not found here.
  void unseen() {
    std::vector<int> wanted, waiting;
    for (const SeenRank& rank : job_.seen) {
      const int peer = rank.log.waitsFor;
      if (!rank.stuck() || rank.log.joining || peer < 0 || job_.find(peer) != nullptr) continue;
      waiting.push_back(rank.log.rank);
      if (std::find(wanted.begin(), wanted.end(), peer) == wanted.end()) wanted.push_back(peer);
    }
    if (wanted.empty()) return;
    std::sort(wanted.begin(), wanted.end());
    add(FindingKind::kUnseen, wanted,
        fmt::format("{} {} for {}, which {} not looked at: run `xylem status` for {} too, on {} host",
                    rankRanges(waiting), waiting.size() == 1 ? "waits" : "wait", rankRanges(wanted),
                    wanted.size() == 1 ? "was" : "were", wanted.size() == 1 ? "it" : "them",
                    wanted.size() == 1 ? "its" : "their"));
  }

  // Calls that have waited for long without being begun, in a communicator in which nothing else is wrong.
  void queued() {
    for (const SeenRank& rank : job_.seen) {
      const comm::CallRecord* current = rank.current();
      if (current == nullptr || current->state != comm::CallState::kIssued) continue;
      const std::uint64_t since = rank.clock.nanosecondsSince(current->issued);
      if (since < kQueuedNanoseconds) continue;
      findings_.push_back(
          {FindingKind::kNotBegun,
           {rank.log.rank},
           fmt::format(
               "rank {} has called {}, {} ago, but not begun it: something before it in its stream is not "
               "done",
               rank.log.rank, comm::describe(current->call), secondsText(since))});
    }
  }

  void cycle() {
    const std::vector<comm::WaitCycle> cycles = comm::waitCycles(std::span(&job_, 1));
    if (!cycles.empty()) add(FindingKind::kCycle, ranksOf(cycles.front(), job_), cycles.front().text());
  }

  // Longer than for waits, as a stream may well have much to do before a call.
  static constexpr std::uint64_t kQueuedNanoseconds = 2'000'000'000;

  const SeenJob& job_;
  std::vector<Finding> findings_;
  std::set<int> sharing_;  // ranks whose calls stand behind others that wait for them
  bool explained_ = false;
};

}  // namespace

std::vector<std::vector<Finding>> findingsAcross(std::span<const SeenJob> jobs) {
  std::vector<std::vector<Finding>> findings(jobs.size());
  for (const comm::WaitCycle& cycle : comm::waitCycles(jobs)) {
    // A cycle inside of one communicator is found there.
    if (cycle.communicators() < 2) continue;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (std::vector<int> ranks = ranksOf(cycle, jobs[i]); !ranks.empty())
        findings[i].push_back({FindingKind::kCycle, std::move(ranks), cycle.text()});
  }
  return findings;
}

std::vector<Finding> findingsOf(const SeenJob& job) { return Examination(job).findings(); }

const char* name(FindingKind kind) {
  switch (kind) {
    case FindingKind::kStopped:
      return "stopped";
    case FindingKind::kFailed:
      return "failed";
    case FindingKind::kNotJoined:
      return "not joined";
    case FindingKind::kJoining:
      return "joining";
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
