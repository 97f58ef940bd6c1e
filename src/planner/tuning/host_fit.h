#pragma once
// Fits the constants of the model of host devices (planner/tuning/host_model.h) to measured times.
//
//   HostFit fit = fitHostModel(rounds);            // each round: the same operations, measured once
//   fit.model.text()                       ->   "launch=0.25,ll.hop=0.2,…"
//   fit.spread[1]                          ->   half of the rounds have an ll.hop between these two
//
// An AllReduce of two ranks takes two steps, and each rank sends as many bytes as the operation has. Its time
// over the bytes is therefore a straight line that starts at launch + 2 hops and has the slope 1 / bandwidth.
// docs/calibration.md has the reasons.

#include <array>
#include <span>
#include <vector>

#include "planner/tuning/host_model.h"

namespace xylem::tuning {

struct HostSample {
  double bytes = 0;
  double microseconds = 0;
};

// The measured times of one round.
struct HostRound {
  double launch = 0;                              // an AllReduce of a rank alone, microseconds
  ByProtocol<std::vector<HostSample>> protocols;  // Ring AllReduce of two ranks of a host
  std::vector<HostSample> net;                    // two ranks on different hosts; empty if not measured
};

struct Line {
  double start = 0;    // microseconds at 0 bytes
  double perByte = 0;  // microseconds
};

// Returns the line with the smallest sum of relative deviations, |measured - line| / measured: every size
// counts alike, and a disturbed sample hardly counts. Needs two samples of different sizes.
Line fitLine(std::span<const HostSample> samples);

// Returns the value with a quarter of the values below it. Disturbances only lengthen a measurement, on a
// busy machine in more than half of the rounds: the times of the quiet rounds are the most useful.
double lowerQuartile(std::vector<double> values);
// Returns the lower quartile of each size over all rounds.
std::vector<HostSample> lowerQuartiles(std::span<const std::vector<HostSample>> rounds);

// The middle half of the rounds, each fitted by itself.
struct Spread {
  float low = 0;
  float high = 0;
};

struct HostFit {
  HostModel model;               // fitted to the lower quartiles over all rounds
  std::array<Spread, 9> spread;  // in the order of constantsOf
};

// Every round must have the same sizes. A constant without measurements keeps its default.
HostFit fitHostModel(std::span<const HostRound> rounds);

}  // namespace xylem::tuning
