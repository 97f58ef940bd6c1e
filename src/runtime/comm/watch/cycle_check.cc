#include "runtime/comm/watch/cycle_check.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/comm/watch/wait_cycle.h"

namespace xylem::comm {
namespace {

using namespace std::chrono_literals;

// A look takes about a millisecond per process; where it takes longer, it does for all ranks.
constexpr auto kLookInterval = 500ms;
constexpr auto kLookIntervalPerProcess = 20ms;
constexpr int kLooksPerInterval = 5;
// The intervals from the first look that finds a cycle to the error.
constexpr int kIntervalsToSee = 6;

// A cycle comes back to this process in another communicator.
bool hasSeveralCommunicators() {
  int live = 0;
  forEachRecordBuffer(
      [](const RecordBuffer& buffer, void* context) {
        for (const RecordRing& ring : buffer.rings)
          if (get(ring.use) == static_cast<std::uint64_t>(RingUse::kLive)) ++*static_cast<int*>(context);
      },
      &live);
  return live > 1;
}

}  // namespace

void CycleCheck::check() {
  const Clock::time_point now = Clock::now();
  if (looked_ == Clock::time_point{}) {
    looked_ = now;
    interval_ = kLookInterval;
  }
  if (now - looked_ >= interval_ && !sure_) look(now);
  if (sure_ && now - since_ >= kIntervalsToSee * interval_) fail();
}

void CycleCheck::fail() const {
  throw Error(ResultCode::kInvalidUsage, "{} (found by XYLEM_CHECK=1)", text_);
}

void CycleCheck::look(Clock::time_point now) {
  looked_ = now;
  if (!hasSeveralCommunicators()) return;
  const std::vector<SeenProcess> processes = seeProcesses({});
  const std::vector<SeenJob> jobs = jobsOf(processes);
  const std::optional<WaitCycle> cycle = waitCycleOf(jobs, communicator_, rank_);
  std::vector<Wait> waits;
  if (cycle && cycle->communicators() > 1)
    for (const WaitStep& step : cycle->steps)
      waits.push_back({step.job->communicator, step.rank->log.rank, step.rank->log.waitsSince});
  interval_ = std::max<Clock::duration>(
      {kLookInterval, kLookIntervalPerProcess * processes.size(), kLooksPerInterval * (Clock::now() - now)});
  sure_ = !waits.empty() && waits == waits_;
  if (waits == waits_) return;
  waits_ = std::move(waits);
  since_ = now;
  text_ = waits_.empty() ? "" : cycle->text();
}

}  // namespace xylem::comm
