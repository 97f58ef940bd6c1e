#pragma once
// Measures the times that the model of host devices is fitted to: two ranks, threads of this process, run
// AllReduces under one protocol after the other. docs/calibration.md describes the method.
//
//   HostBench bench(settings, log);                  // both ranks have joined their communicators
//   std::vector<HostRound> rounds = bench.measure(11, [](int round) { ... });
//   if (!bench.netProblem().empty()) ...             // there are no times of the network

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

  // Calls `begin` before each round, on the caller's thread. Throws the error of a rank that failed.
  std::vector<tuning::HostRound> measure(int rounds, const std::function<void(int)>& begin);
  // Why the network could not be measured; empty if it was.
  const std::string& netProblem() const { return netProblem_; }

 private:
  class Rank;
  // Runs `work` on both ranks at once. If one fails, aborts its communicators, which ends the other, and
  // throws its error.
  void onBothRanks(const std::function<void(Rank&)>& work);

  std::atomic<int> batch_{0};  // the number of operations that are timed together
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::string netProblem_;
};

}  // namespace xylem::cli
