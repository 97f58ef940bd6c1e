#include "cli/perf/thread.h"

#include <chrono>
#include <cstring>

#include "core/host_name.h"

namespace xylem::cli {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

PerfThread::PerfThread(const PerfOptions& options, int firstRank, int firstDevice) : options_(options) {
  int devices = 1;
  require(cudaGetDeviceCount(&devices), nullptr, "cudaGetDeviceCount");
  for (int i = 0; i < options.gpus; ++i)
    ranks_.push_back(std::make_unique<PerfRank>(options, firstRank + i, (firstDevice + i) % devices));
}

template <typename Call>
void PerfThread::together(bool group, Call&& call) {
  group = group || ranks_.size() > 1;
  if (group) require(ncclGroupStart(), nullptr, "ncclGroupStart");
  for (const auto& rank : ranks_) call(*rank);
  if (group) require(ncclGroupEnd(), nullptr, "ncclGroupEnd");
}

void PerfThread::join(const ncclUniqueId& id) {
  together(false, [&](PerfRank& rank) { rank.join(id); });
  const std::size_t sharedBytes = static_cast<std::size_t>(options_.ranks()) * sizeof(PerfMessage);
  for (const auto& rank : ranks_) rank->prepare(sharedBytes);
}

void PerfThread::launch(const PerfCase& c, bool inPlace, int times) {
  const int steps = stepsOf(options_.collective, options_.ranks());
  const bool group = isPointToPoint(options_.collective) || times > 1;
  for (int step = 0; step < steps; ++step)
    together(group, [&](PerfRank& rank) {
      for (int i = 0; i < times; ++i) rank.issue(c, inPlace, step);
    });
  if (options_.blocking) synchronize();
}

void PerfThread::synchronize() {
  for (const auto& rank : ranks_) rank->synchronize();
}

void PerfThread::meet() {
  together(false, [](PerfRank& rank) { rank.issueShared(1); });
  synchronize();
}

std::vector<PerfMessage> PerfThread::exchange(const std::vector<PerfMessage>& mine) {
  const auto ranks = static_cast<std::size_t>(options_.ranks());
  const std::size_t bytes = ranks * sizeof(PerfMessage);
  // Everybody's message in its own place and zeros elsewhere: the sum has them all.
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    std::memset(ranks_[i]->shared(), 0, bytes);
    std::memcpy(ranks_[i]->shared() + static_cast<std::size_t>(mine[i].rank) * sizeof(PerfMessage), &mine[i],
                sizeof(PerfMessage));
  }
  together(false, [&](PerfRank& rank) { rank.issueShared(bytes); });
  synchronize();
  std::vector<PerfMessage> all(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    std::memcpy(&all[i], ranks_.front()->shared() + i * sizeof(PerfMessage), sizeof(PerfMessage));
  return all;
}

void PerfThread::measure(const PerfCase& c, bool inPlace, PerfMessage::Timing PerfMessage::*timing,
                         std::vector<PerfMessage>& results) {
  for (int i = 0; i < options_.warmup; ++i) launch(c, inPlace, options_.aggregated);
  meet();
  const auto start = Clock::now();
  for (int i = 0; i < options_.iterations; ++i) launch(c, inPlace, options_.aggregated);
  const double enqueued = elapsed(start);
  synchronize();
  const double taken = options_.cpuTime ? enqueued : elapsed(start);
  for (PerfMessage& result : results)
    (result.*timing).microseconds = taken / options_.iterations / options_.aggregated;
  for (int i = 0; i < options_.checks; ++i) {
    for (const auto& rank : ranks_) rank->fill(c, inPlace);
    // Once: in place, a second one would take the first one's results.
    launch(c, inPlace, 1);
    synchronize();
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      (results[r].*timing).wrong += ranks_[r]->countWrong(c, inPlace);
  }
}

void PerfThread::run(PerfOutlet& outlet) {
  std::vector<PerfMessage> hellos;
  for (const auto& rank : ranks_) {
    hellos.push_back(PerfMessage::of(PerfMessage::kHello, rank->rank()));
    hellos.back().device = rank->device();
    hellos.back().setText(hostName());
  }
  outlet.joined(*this, hellos);
  const std::vector<PerfCase> cases = casesOf(options_);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<PerfMessage> results;
    for (const auto& rank : ranks_) {
      rank->use(cases[i]);
      results.push_back(PerfMessage::of(PerfMessage::kResult, rank->rank()));
      results.back().caseIndex = static_cast<std::uint32_t>(i);
    }
    measure(cases[i], false, &PerfMessage::outOfPlace, results);
    if (isDefinedInPlace(options_.collective)) {
      for (const auto& rank : ranks_) rank->use(cases[i]);
      measure(cases[i], true, &PerfMessage::inPlace, results);
    }
    outlet.measured(*this, cases[i], results);
  }
}

}  // namespace xylem::cli
