#include "cli/perf/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace xylem::cli {
namespace {

using Json = nlohmann::ordered_json;

// Seven columns, with as many decimals as fit.
std::string paddedTime(double microseconds) {
  if (microseconds >= 10000) return fmt::format("{:7.0f}", microseconds);
  if (microseconds >= 100) return fmt::format("{:7.1f}", microseconds);
  return fmt::format("{:7.2f}", microseconds);
}

std::string cells(const PerfSpeed& speed, const Terminal& terminal) {
  std::string wrong = fmt::format("{:>6}", speed.wrong ? std::to_string(*speed.wrong) : "N/A");
  if (speed.wrong.value_or(0) > 0) wrong = terminal.paint(Style::kRed, wrong);
  return fmt::format("{}  {:6.2f}  {:6.2f} {}", paddedTime(speed.microseconds), speed.bandwidth.algorithm,
                     speed.bandwidth.bus, wrong);
}

std::string cells(const std::optional<PerfSpeed>& speed, const Terminal& terminal) {
  if (speed) return cells(*speed, terminal);
  return fmt::format("{:>7}  {:>6}  {:>6} {:>6}", "N/A", "N/A", "N/A", "N/A");
}

std::string headLine(const Terminal& terminal, const std::string& text) {
  return terminal.paint(Style::kBold, text) + "\n";
}

std::string perfHead(const PerfOptions& options, const std::vector<PerfMessage>& hellos,
                     const Terminal& terminal) {
  const std::string step = options.stepBytes > 0 ? fmt::format("{}(bytes)", options.stepBytes)
                                                 : fmt::format("{}(factor)", options.stepFactor);
  std::string text = fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} "
      "validation: {} graph: {}\n#\n# Using devices\n",
      options.threads, options.gpus, options.minBytes, options.maxBytes, step, options.warmup,
      options.iterations, options.aggregated, options.checks, options.graphLaunches);
  for (const PerfMessage& hello : hellos)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [host]\n", hello.rank,
                        hello.pid, hello.text, hello.device);
  constexpr const char* kColumns =
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}";
  text += "#\n";
  text += headLine(terminal,
                   fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           {}                       {}"
                               "          ",
                               "", "", "", "", "", "out-of-place", "in-place"));
  text +=
      headLine(terminal, fmt::format(fmt::runtime(kColumns), "size", "count", "type", "redop", "root", "time",
                                     "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"));
  text += headLine(terminal, fmt::format(fmt::runtime(kColumns), "(B)", "(elements)", "", "", "", "(us)",
                                         "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", ""));
  return text;
}

std::string perfLine(const PerfRow& row, const Terminal& terminal) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {}  {}\n", row.c.bytes(), row.c.layout.count,
                     name(row.c.type), name(row.c.op), row.c.root, cells(row.outOfPlace, terminal),
                     cells(row.inPlace, terminal));
}

std::string perfFoot(std::uint64_t wrong, double averageBus, const Terminal& terminal) {
  const std::string verdict = wrong == 0 ? "OK" : terminal.paint(Style::kRed, "FAILED");
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.5g} \n#\n", wrong, verdict,
                     averageBus);
}

Json jsonOf(const PerfSpeed& speed) {
  return {{"time_us", speed.microseconds},
          {"algbw_gbs", speed.bandwidth.algorithm},
          {"busbw_gbs", speed.bandwidth.bus},
          {"wrong", speed.wrong ? Json(*speed.wrong) : Json(nullptr)}};
}

Json jsonOf(const PerfRow& row) {
  Json json = {{"size", row.c.bytes()}, {"count", row.c.layout.count}, {"type", name(row.c.type)}};
  if (row.c.op != PerfOperator::kNone) json["redop"] = name(row.c.op);
  if (row.c.root >= 0) json["root"] = row.c.root;
  json["out_of_place"] = jsonOf(row.outOfPlace);
  json["in_place"] = row.inPlace ? jsonOf(*row.inPlace) : Json(nullptr);
  return json;
}

Json toJson(const PerfOptions& options, const std::vector<PerfMessage>& hellos,
            const std::vector<PerfRow>& rows, std::uint64_t wrong, double averageBus) {
  Json ranks = Json::array();
  for (const PerfMessage& hello : hellos)
    ranks.push_back(
        {{"rank", hello.rank}, {"pid", hello.pid}, {"host", hello.text}, {"device", hello.device}});
  Json results = Json::array();
  for (const PerfRow& row : rows) results.push_back(jsonOf(row));
  const Json all = {{"format", "xylem-perf-1"},
                    {"collective", name(options.collective)},
                    {"processes", options.processes},
                    {"threads", options.threads},
                    {"gpus", options.gpus},
                    {"warmup", options.warmup},
                    {"iterations", options.iterations},
                    {"aggregated", options.aggregated},
                    {"graph", options.graphLaunches},
                    {"cputime", options.cpuTime},
                    {"memory", name(options.memory)},
                    {"registered", options.registers},
                    {"ranks", ranks},
                    {"results", results},
                    {"wrong", wrong},
                    {"avg_busbw_gbs", averageBus}};
  return all;
}

// The one of the ranks' times, or the mean of them, that -a asks for.
double shownTime(PerfAverage average, const std::vector<double>& times) {
  switch (average) {
    case PerfAverage::kRank0:
      return times.front();
    case PerfAverage::kMinimum:
      return *std::min_element(times.begin(), times.end());
    case PerfAverage::kMaximum:
      return *std::max_element(times.begin(), times.end());
    case PerfAverage::kAverage:
      break;
  }
  double mean = 0;
  for (const double time : times) mean += time / static_cast<double>(times.size());
  return mean;
}

}  // namespace

PerfSpeed speedOf(const PerfOptions& options, const PerfCase& c, const std::vector<PerfMessage>& results,
                  PerfMessage::Timing PerfMessage::*timing) {
  PerfSpeed speed;
  std::vector<double> times, enqueuing;
  std::uint64_t wrong = 0;
  for (const PerfMessage& result : results) {
    times.push_back((result.*timing).microseconds);
    enqueuing.push_back((result.*timing).enqueuing);
    wrong += (result.*timing).wrong;
  }
  const double time = shownTime(options.average, times);
  speed.microseconds = options.cpuTime ? shownTime(options.average, enqueuing) : time;
  speed.bandwidth = bandwidthOf(options.collective, c.bytes(), options.ranks(), time);
  if (options.checks > 0) speed.wrong = wrong;
  return speed;
}

namespace {

PerfRow rowOf(const PerfOptions& options, const PerfCase& c, const std::vector<PerfMessage>& results) {
  PerfRow row{c, speedOf(options, c, results, &PerfMessage::outOfPlace), {}};
  if (isDefinedInPlace(options.collective)) row.inPlace = speedOf(options, c, results, &PerfMessage::inPlace);
  return row;
}

}  // namespace

PerfReport::PerfReport(const PerfOptions& options, Terminal terminal, Print print)
    : options_(options), terminal_(terminal), print_(std::move(print)), cases_(casesOf(options).size()) {}

void PerfReport::starts() { progress_.emplace(fmt::format("{} ranks join", options_.ranks())); }

void PerfReport::announceNext() {
  if (rows_.size() < cases_)
    progress_.emplace(
        fmt::format("measuring {}, {} of {}", name(options_.collective), rows_.size() + 1, cases_));
}

void PerfReport::joined(const std::vector<PerfMessage>& hellos) {
  progress_.reset();
  hellos_ = hellos;
  if (!options_.json) print_(perfHead(options_, hellos, terminal_));
  announceNext();
}

void PerfReport::measured(const PerfCase& c, const std::vector<PerfMessage>& results) {
  progress_.reset();
  const PerfRow row = rowOf(options_, c, results);
  rows_.push_back(row);
  wrong_ += row.outOfPlace.wrong.value_or(0);
  if (row.inPlace) wrong_ += row.inPlace->wrong.value_or(0);
  if (!options_.json) print_(perfLine(row, terminal_));
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
  if (options_.json)
    writeJson(toJson(options_, hellos_, rows_, wrong_, bus), 2);
  else
    writeOut(perfFoot(wrong_, bus, terminal_));
}

}  // namespace xylem::cli
