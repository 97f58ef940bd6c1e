#pragma once
// What `xylem tune --calibrate` found, in words and as JSON: the constants, and how well a model with them
// chooses.
//
//   const CalibrationReport report = reportOf(rounds, fitHostModel(rounds));
//   writeOut(calibrationText(report, terminalOf(stdout)));

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "planner/tuning/host_fit.h"

namespace xylem::cli {

struct CalibratedSize {
  std::uint64_t bytes = 0;
  ByProtocol<double> measured{};   // microseconds, lower quartile over the rounds
  ByProtocol<double> predicted{};  // by the fitted model
  double net = 0;                  // microseconds; 0: not measured
  Protocol fastest = Protocol::kLl;
  Protocol chosen = Protocol::kLl;

  // By how much the choice is slower than the fastest: 0.1 is 10 %.
  double loss() const { return measured[chosen] / measured[fastest] - 1; }
};

struct CalibrationReport {
  HostFit fit;
  int rounds = 0;
  int cores = 0;
  std::string netProblem;  // why the network was not measured
  std::vector<CalibratedSize> sizes;

  // Sizes at which the model chooses what was measured fastest, or what is as fast within the noise.
  int agreeing() const;
  double worstLoss() const;
  // The rounds differ so much that the constants are worth little.
  bool noisy() const;
};

CalibrationReport reportOf(std::span<const HostRound> rounds, const HostFit& fit);

std::string calibrationText(const CalibrationReport& report, const Terminal& terminal);
std::string calibrationJson(const CalibrationReport& report);

}  // namespace xylem::cli
