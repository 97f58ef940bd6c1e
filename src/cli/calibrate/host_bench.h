#pragma once
// Measures what the model of host devices needs: two ranks, threads of this process, that run AllReduces
// under one protocol after the other.
//
//   HostBench bench(settings, log);                  // both ranks have joined their communicators
//   std::vector<HostRound> rounds = bench.measure(11, [](int round) { … });
//   bench.netProblem()                               ->   why there are no times of the network; empty: there
//   are
//
// docs/calibration.md says what is measured and why so.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "planner/tuning/host_fit.h"

namespace xylem::cli {

// 8 B to 16 MiB, powers of two.
std::vector<std::uint64_t> calibrationSizes();

class HostBench {
 public:
  HostBench(const Settings& settings, std::shared_ptr<const Logger> log);
  ~HostBench();
  HostBench(const HostBench&) = delete;
  HostBench& operator=(const HostBench&) = delete;

  // Throws what failed on a rank. `begin` is called before each round, on another thread.
  std::vector<HostRound> measure(int rounds, const std::function<void(int)>& begin);
  const std::string& netProblem() const { return netProblem_; }

 private:
  class Rank;
  // Runs `work` on both ranks side by side; throws the first that failed, which ends the other.
  void onBothRanks(const std::function<void(Rank&)>& work);

  std::atomic<int> batch_{0};  // operations that are measured together
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::string netProblem_;
};

}  // namespace xylem::cli
