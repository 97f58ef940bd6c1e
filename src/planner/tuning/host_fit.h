#pragma once
// Finds the constants of the model of host devices (planner/tuning/host_model.h) in measured times.
//
//   HostFit fit = fitHostModel(rounds);            // each round: the same operations, measured once
//   fit.model.text()                       ->   "launch=0.25,ll.hop=0.2,…"
//   fit.spread[1]                          ->   half of the rounds have an ll.hop between these two
//
// An AllReduce of two ranks takes two steps, and each rank passes on as many bytes as the operation has, so
// its time is a straight line over the bytes: launch + 2 hops where it starts, 1 / bandwidth as its slope.
// docs/calibration.md has the reasons.

#include <array>
#include <span>
#include <vector>

#include "planner/tuning/host_model.h"

namespace xylem {

struct HostSample {
  double bytes = 0;
  double microseconds = 0;
};

// One round.
struct HostRound {
  double launch = 0;                              // an AllReduce of a rank alone, microseconds
  ByProtocol<std::vector<HostSample>> protocols;  // Ring AllReduce of two ranks of a host
  std::vector<HostSample> net;                    // of two ranks on different hosts; empty: not measured
};

struct Line {
  double start = 0;    // microseconds at 0 bytes
  double perByte = 0;  // microseconds
};

// The line with the smallest sum of relative deviations, |measured - line| / measured: every size counts
// alike, and one that was disturbed hardly at all. Two samples are needed, of different sizes.
Line fitLine(std::span<const HostSample> samples);

// A quarter of the values is below. What disturbs a measurement only ever makes it longer, and may do so in
// more than half of the rounds of a busy machine: the times of most use are those of the quieter rounds.
double lowerQuartile(std::vector<double> values);
// By size, over the rounds.
std::vector<HostSample> lowerQuartiles(std::span<const std::vector<HostSample>> rounds);

// The middle half of the rounds, each fitted by itself.
struct Spread {
  float low = 0;
  float high = 0;
};

struct HostFit {
  HostModel model;               // of the lower quartiles over all rounds
  std::array<Spread, 9> spread;  // in the order of constantsOf
};

// Every round has the same sizes. What was not measured keeps its default.
HostFit fitHostModel(std::span<const HostRound> rounds);

}  // namespace xylem
