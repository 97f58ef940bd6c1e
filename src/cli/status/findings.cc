// Finds what is wrong with a communicator from the last calls of its ranks. The checks run from certain
// causes (a stopped process, a failure, calls that differ) to guesses from who waits for whom; a cycle of
// waits is only reported if nothing else explains it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/status/job.h"
#include "runtime/comm/issue/call_check.h"

namespace xylem::cli {
namespace {

std::string secondsText(std::uint64_t nanoseconds) {
  return fmt::format("{:.1f} s", static_cast<double>(nanoseconds) / 1e9);
}

std::string lastCallText(const SeenRank& rank) {
  const comm::CallRecord* last = rank.lastCall();
  if (last == nullptr) return "it has called nothing so far";
  comm::TextLine line;
  comm::describe(line, *last, rank.clock);
  return fmt::format("its last call: {}", line.text());
}

class Examination {
 public:
  explicit Examination(const SeenJob& job) : job_(job) {}

  std::vector<Finding> findings() {
    stopped();
    failed();
    joining();
    differences();
    lateComers();
    transfers();
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
      add(FindingKind::kFailed, ranks, fmt::format("{} failed: {}", comm::rankRanges(ranks), reason));
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
    const std::string wait = fmt::format("{} {}, for {}: {}", comm::rankRanges(waiting),
                                         waiting.size() == 1 ? "joins" : "join", secondsText(longest), step);
    if (missing.empty()) return add(FindingKind::kJoining, waiting, wait);
    const bool one = missing.size() == 1;
    add(FindingKind::kNotJoined, missing,
        fmt::format("{}; {} {} not joining on this host: {} not called ncclCommInitRank yet, {} ended, or {} "
                    "elsewhere",
                    wait, comm::rankRanges(missing), one ? "is" : "are", one ? "it has" : "they have",
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
      for (const auto& [text, members] : groups) parts.push_back(comm::rankRanges(members) + ": " + text);
      return add(FindingKind::kDiffer, ranks,
                 fmt::format("the ranks do not call the same as collective #{}: {}", ordinal,
                             fmt::join(parts, "; ")));
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
      missing.push_back({FindingKind::kNotCalled,
                         {peer->log.rank},
                         fmt::format("rank {} waits in its {}, but rank {} has no {} for it under way; {}",
                                     rank.log.rank, comm::describe(mine.call), peer->log.rank,
                                     name(wanted), lastCallText(*peer))});
      return;
    }
    const bool fits = partner->call.count == mine.call.count && partner->call.type == mine.call.type;
    if (!fits && (rank.log.rank < peer->log.rank || !peer->stuck()))
      add(FindingKind::kDiffer, {rank.log.rank, peer->log.rank},
          fmt::format("send and receive do not fit: rank {}: {}; rank {}: {}", rank.log.rank,
                      comm::describe(mine.call), peer->log.rank, comm::describe(partner->call)));
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
                    comm::rankRanges(waiting), waiting.size() == 1 ? "waits" : "wait",
                    comm::rankRanges(wanted), wanted.size() == 1 ? "was" : "were",
                    wanted.size() == 1 ? "it" : "them", wanted.size() == 1 ? "its" : "their"));
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

  // Follows the waits from rank to rank until one comes up again.
  void cycle() {
    for (const SeenRank& start : job_.seen) {
      std::vector<int> path;
      const SeenRank* at = &start;
      while (at != nullptr && at->stuck() && !at->log.joining && at->log.waitsFor >= 0) {
        const auto before = std::find(path.begin(), path.end(), at->log.rank);
        if (before != path.end()) return addCycle({before, path.end()});
        path.push_back(at->log.rank);
        at = job_.find(at->log.waitsFor);
      }
    }
  }

  void addCycle(const std::vector<int>& ranks) {
    std::vector<std::string> parts;
    for (const int rank : ranks) {
      const SeenRank* member = job_.find(rank);
      const comm::CallRecord* call = member->current();
      parts.push_back(fmt::format("rank {} for rank {}{}", rank, member->log.waitsFor,
                                  call == nullptr ? "" : " in " + comm::describe(call->call)));
    }
    add(FindingKind::kCycle, ranks, fmt::format("ranks wait for each other: {}", fmt::join(parts, "; ")));
  }

  // Longer than for waits, as a stream may well have much to do before a call.
  static constexpr std::uint64_t kQueuedNanoseconds = 2'000'000'000;

  const SeenJob& job_;
  std::vector<Finding> findings_;
  bool explained_ = false;
};

// A rank of one of several communicators.
struct Member {
  std::size_t job;
  const SeenRank* rank;
  bool operator==(const Member&) const = default;
};

// Follows waits over all communicators: a rank waits for a peer of its communicator, and if that peer is not at work
// there, for whatever the peer's process and device wait for elsewhere.
class CrossExamination {
 public:
  explicit CrossExamination(const std::vector<SeenJob>& jobs) : jobs_(jobs), findings_(jobs.size()) {}

  std::vector<std::vector<Finding>> findings() {
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      for (const SeenRank& rank : jobs_[job].seen) follow({job, &rank});
    return std::move(findings_);
  }

 private:
  static bool waits(const SeenRank& rank) { return rank.stuck() && rank.log.waitsFor >= 0; }

  // The member whose wait holds up this one; no rank if there is none.
  Member after(const Member& member) const {
    const SeenRank* peer = jobs_[member.job].find(member.rank->log.waitsFor);
    if (peer == nullptr || waits(*peer)) return {member.job, peer};
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      for (const SeenRank& other : jobs_[job].seen)
        if (job != member.job && waits(other) && other.pid == peer->pid && other.host == peer->host &&
            other.log.device == peer->log.device)
          return {job, &other};
    return {member.job, nullptr};
  }

  void follow(Member at) {
    std::vector<Member> path;
    while (at.rank != nullptr && waits(*at.rank)) {
      const auto before = std::find(path.begin(), path.end(), at);
      if (before != path.end()) return report({before, path.end()});
      path.push_back(at);
      at = after(at);
    }
  }

  void report(const std::vector<Member>& cycle) {
    std::map<std::size_t, std::vector<int>> ranks;
    std::vector<std::string> parts;
    for (const Member& member : cycle) {
      ranks[member.job].push_back(member.rank->log.rank);
      const comm::CallRecord* call = member.rank->current();
      parts.push_back(fmt::format("process {}, rank {} of communicator {:#x}, for rank {}{}",
                                  member.rank->pid, member.rank->log.rank, jobs_[member.job].communicator,
                                  member.rank->log.waitsFor,
                                  call == nullptr ? "" : " in " + comm::describe(call->call)));
    }
    // A cycle inside of one communicator is found there.
    if (ranks.size() < 2) return;
    std::sort(parts.begin(), parts.end());
    const std::string text = fmt::format(
        "ranks wait for each other over {} communicators: {}; all ranks must make their calls on these "
        "communicators in the same order",
        ranks.size(), fmt::join(parts, "; "));
    for (auto& [job, members] : ranks) {
      std::vector<Finding>& known = findings_[job];
      const bool again = std::any_of(known.begin(), known.end(),
                                     [&](const Finding& finding) { return finding.text == text; });
      std::sort(members.begin(), members.end());
      if (!again) known.push_back({FindingKind::kCycle, members, text});
    }
  }

  const std::vector<SeenJob>& jobs_;
  std::vector<std::vector<Finding>> findings_;
};

}  // namespace

std::vector<std::vector<Finding>> findingsAcross(const std::vector<SeenJob>& jobs) {
  return CrossExamination(jobs).findings();
}

std::vector<Finding> findingsOf(const SeenJob& job) { return Examination(job).findings(); }

}  // namespace xylem::cli
