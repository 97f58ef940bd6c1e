#include "planner/tuning/host_fit.h"

#include <algorithm>
#include <cmath>

namespace xylem::tuning {
namespace {

constexpr double kLower = 0.25, kUpper = 0.75;  // quartiles
constexpr int kStepsOfTwoRanks = 2;
constexpr int kStepsOfTwoHosts = 1;  // two ranks on two hosts exchange their data at the same time
// Microseconds. Noise may yield a step of 0 or less, which XYLEM_HOST_MODEL would not accept.
constexpr double kMinLatency = 0.01;
constexpr double kBytesPerMicrosecond = 1000;

double deviation(const Line& line, std::span<const HostSample> samples) {
  double sum = 0;
  for (const HostSample& s : samples)
    sum += std::abs(s.microseconds - line.start - line.perByte * s.bytes) / s.microseconds;
  return sum;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

float hopOf(const Line& line, double launch, int steps) {
  return static_cast<float>(std::max((line.start - launch) / steps, kMinLatency));
}

float bandwidthOf(const Line& line) { return static_cast<float>(1 / (line.perByte * kBytesPerMicrosecond)); }

HostModel fitRound(const HostRound& round) {
  HostModel model;
  model.launch = static_cast<float>(std::max(round.launch, kMinLatency));
  for (const Protocol p : kAllProtocols) {
    if (round.protocols[p].empty()) continue;
    const Line line = fitLine(round.protocols[p]);
    model.hop[p] = hopOf(line, round.launch, kStepsOfTwoRanks);
    model.bandwidth[p] = bandwidthOf(line);
  }
  if (!round.net.empty()) {
    const Line line = fitLine(round.net);
    model.netHop = hopOf(line, round.launch, kStepsOfTwoHosts);
    model.netBandwidth = bandwidthOf(line);
  }
  return model;
}

template <typename Part>
std::vector<HostSample> quietTimes(std::span<const HostRound> rounds, const Part& part) {
  std::vector<std::vector<HostSample>> parts;
  for (const HostRound& round : rounds) parts.push_back(part(round));
  return xylem::tuning::lowerQuartiles(parts);
}

}  // namespace

// A sum of absolute deviations has its minimum at a line through two of the samples. There are few pairs, so
// all of them are tried.
Line fitLine(std::span<const HostSample> samples) {
  Line best;
  double least = INFINITY;
  const auto consider = [&](const Line& line) {
    if (!(line.start > 0) || !(line.perByte > 0)) return;
    if (const double sum = deviation(line, samples); sum < least) {
      least = sum;
      best = line;
    }
  };
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t j = i + 1; j < samples.size(); ++j) {
      const HostSample &a = samples[i], &b = samples[j];
      if (a.bytes == b.bytes) continue;
      const double perByte = (b.microseconds - a.microseconds) / (b.bytes - a.bytes);
      consider({a.microseconds - perByte * a.bytes, perByte});
    }
  if (least < INFINITY) return best;
  // No pair gives a line with a positive start and slope: the samples are noise. Return a line that has both.
  const auto [small, large] =
      std::minmax_element(samples.begin(), samples.end(),
                          [](const HostSample& a, const HostSample& b) { return a.bytes < b.bytes; });
  return {small->microseconds, large->microseconds / large->bytes};
}

double lowerQuartile(std::vector<double> values) { return quantile(std::move(values), kLower); }

std::vector<HostSample> lowerQuartiles(std::span<const std::vector<HostSample>> rounds) {
  std::vector<HostSample> all;
  for (std::size_t i = 0; i < rounds.front().size(); ++i) {
    std::vector<double> times;
    for (const std::vector<HostSample>& round : rounds) times.push_back(round[i].microseconds);
    all.push_back({rounds.front()[i].bytes, lowerQuartile(std::move(times))});
  }
  return all;
}

HostFit fitHostModel(std::span<const HostRound> rounds) {
  HostRound typical;
  std::vector<double> launches;
  for (const HostRound& round : rounds) launches.push_back(round.launch);
  typical.launch = lowerQuartile(std::move(launches));
  for (const Protocol p : kAllProtocols)
    typical.protocols[p] = quietTimes(rounds, [p](const HostRound& r) { return r.protocols[p]; });
  typical.net = quietTimes(rounds, [](const HostRound& r) { return r.net; });

  HostFit fit;
  fit.model = fitRound(typical);
  std::array<std::vector<double>, std::tuple_size_v<decltype(fit.spread)>> values;
  for (const HostRound& round : rounds) {
    HostModel model = fitRound(round);
    const auto constants = constantsOf(model);
    for (std::size_t i = 0; i < constants.size(); ++i) values[i].push_back(*constants[i].value);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    fit.spread[i] = {static_cast<float>(quantile(values[i], kLower)),
                     static_cast<float>(quantile(values[i], kUpper))};
  return fit;
}

}  // namespace xylem::tuning
