#include "cli/perf/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace xylem::cli {
namespace {

PerfSpeed speedOf(const PerfOptions& options, const PerfCase& c, const std::vector<PerfMessage>& results,
                  PerfMessage::Timing PerfMessage::*timing) {
  PerfSpeed speed;
  std::vector<double> times;
  std::uint64_t wrong = 0;
  for (const PerfMessage& result : results) {
    times.push_back((result.*timing).microseconds);
    wrong += (result.*timing).wrong;
  }
  switch (options.average) {
    case PerfAverage::kRank0:
      speed.microseconds = times.front();
      break;
    case PerfAverage::kMinimum:
      speed.microseconds = *std::min_element(times.begin(), times.end());
      break;
    case PerfAverage::kMaximum:
      speed.microseconds = *std::max_element(times.begin(), times.end());
      break;
    case PerfAverage::kAverage:
      for (const double time : times) speed.microseconds += time / static_cast<double>(times.size());
      break;
  }
  speed.bandwidth = bandwidthOf(options.collective, c.bytes(), options.ranks(), speed.microseconds);
  if (options.checks > 0) speed.wrong = wrong;
  return speed;
}

}  // namespace

PerfRow rowOf(const PerfOptions& options, const PerfCase& c, const std::vector<PerfMessage>& results) {
  PerfRow row{c, speedOf(options, c, results, &PerfMessage::outOfPlace), {}};
  if (isDefinedInPlace(options.collective))
    row.inPlace = speedOf(options, c, results, &PerfMessage::inPlace);
  return row;
}

PerfReport::PerfReport(const PerfOptions& options, Terminal terminal)
    : options_(options), terminal_(terminal), cases_(casesOf(options).size()) {}

void PerfReport::announceNext() {
  if (rows_.size() < cases_)
    progress_.emplace(
        fmt::format("measuring {}, {} of {}", name(options_.collective), rows_.size() + 1, cases_));
}

void PerfReport::joined(const std::vector<PerfMessage>& hellos) {
  hellos_ = hellos;
  if (!options_.json) {
    writeOut(perfHead(options_, hellos, terminal_));
    std::fflush(stdout);
  }
  announceNext();
}

void PerfReport::measured(const PerfCase& c, const std::vector<PerfMessage>& results) {
  progress_.reset();
  const PerfRow row = rowOf(options_, c, results);
  rows_.push_back(row);
  wrong_ += row.outOfPlace.wrong.value_or(0);
  if (row.inPlace) wrong_ += row.inPlace->wrong.value_or(0);
  if (!options_.json) {
    writeOut(perfLine(row, terminal_));
    std::fflush(stdout);
  }
  announceNext();
}

void PerfReport::finish() {
  progress_.reset();
  double bus = 0;
  for (const PerfRow& row : rows_) {
    const double outOfPlace = row.outOfPlace.bandwidth.bus;
    bus += row.inPlace ? (outOfPlace + row.inPlace->bandwidth.bus) / 2 : outOfPlace;
  }
  if (!rows_.empty()) bus /= static_cast<double>(rows_.size());
  writeOut(options_.json ? perfJson(options_, hellos_, rows_, wrong_, bus)
                         : perfFoot(wrong_, bus, terminal_));
}

}  // namespace xylem::cli
