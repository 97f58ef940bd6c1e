#include "runtime/comm/watch/late_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/watch/host_records.h"

namespace xylem::comm {
namespace {

std::string describeLast(const SeenRank& rank) {
  const CallRecord* last = rank.lastCall();
  if (last == nullptr) return "it has called nothing so far";
  TextLine line;
  describe(line, *last, rank.clock);
  return fmt::format("its last call: {}", line.text());
}

std::string lateText(const SeenJob& job, const SeenRank& self, const CallRecord& awaited) {
  std::vector<int> late;
  std::string others;
  const SeenRank* latest = nullptr;
  for (const SeenRank& rank : job.seen) {
    if (rank.collectives() <= awaited.ordinal) {
      late.push_back(rank.log.rank);
      if (latest == nullptr) latest = &rank;
    } else if (const CallRecord* call = rank.collective(awaited.ordinal);
               call != nullptr && call->call != awaited.call) {
      others += fmt::format("; rank {} called {} instead", rank.log.rank, describe(call->call));
    }
  }
  std::string text;
  if (!late.empty())
    text = fmt::format("; {} {} not called it; {}{}", rankRanges(late), late.size() == 1 ? "has" : "have",
                       late.size() == 1 ? "" : fmt::format("rank {}: ", latest->log.rank),
                       describeLast(*latest));
  text += others;
  if (text.empty() && self.log.waitsFor >= 0)
    text = fmt::format("; rank {} waits for rank {}", self.log.rank, self.log.waitsFor);
  return text.empty() ? text : text.substr(2);
}

}  // namespace

std::string lateRanksText(std::uint64_t communicator, int rank) {
  const std::vector<SeenJob> jobs = jobsOf(seeProcesses({}));
  const auto job = std::find_if(jobs.begin(), jobs.end(),
                                [&](const SeenJob& j) { return j.communicator == communicator; });
  if (job == jobs.end()) return "";
  const SeenRank* self = job->find(rank);
  const CallRecord* awaited = self == nullptr ? nullptr : self->current();
  if (awaited == nullptr || isPointToPoint(awaited->call.function)) return "";
  return lateText(*job, *self, *awaited);
}

}  // namespace xylem::comm
