#include "cli/perf_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace xylem::cli {
namespace {

// As nccl-tests: as many decimals as fit next to the whole part.
std::string timeText(double microseconds) {
  if (microseconds >= 10000) return fmt::format("{:7.0f}", microseconds);
  if (microseconds >= 100) return fmt::format("{:7.1f}", microseconds);
  return fmt::format("{:7.2f}", microseconds);
}

}  // namespace

void PerfReport::joined(const std::vector<PerfMessage>& hellos) {
  hellos_ = hellos;
  if (options_.json) return;
  const std::string step = options_.stepBytes > 0 ? fmt::format("{}(bytes)", options_.stepBytes)
                                                  : fmt::format("{}(factor)", options_.stepFactor);
  std::string text = fmt::format(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: 1 "
      "validation: {} "
      "graph: 0\n#\n# Using devices\n",
      options_.minBytes, options_.maxBytes, step, options_.warmup, options_.iterations,
      options_.check ? 1 : 0);
  for (std::size_t rank = 0; rank < hellos.size(); ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [host]\n", rank,
                        hellos[rank].pid, hellos[rank].text, hellos[rank].device);
  writeOut(text);
  printTableHead();
}

void PerfReport::printTableHead() const {
  const auto bold = [this](const std::string& text) { return terminal_.paint(Style::kBold, text) + "\n"; };
  writeOut(
      "#\n" +
      bold(fmt::format(
          "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                       in-place"
          "          ",
          "", "", "", "", "")) +
      bold(fmt::format(
          "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}",
          "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
          "busbw", "#wrong")) +
      bold(fmt::format(
          "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}",
          "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "")));
  std::fflush(stdout);
}

PerfReport::Speed PerfReport::speedOf(const PerfCase& c, const std::vector<PerfMessage>& results,
                                      PerfMessage::Timing PerfMessage::*timing) const {
  Speed speed;
  for (const PerfMessage& result : results) {
    speed.microseconds += (result.*timing).microseconds / static_cast<double>(results.size());
    speed.wrong += (result.*timing).wrong;
  }
  const double ranks = options_.ranks;
  if (speed.microseconds > 0) speed.algorithm = static_cast<double>(c.bytes()) / speed.microseconds / 1e3;
  speed.bus = speed.algorithm * 2 * (ranks - 1) / ranks;
  return speed;
}

std::string PerfReport::cells(const Speed& speed) const {
  std::string wrong = fmt::format("{:>6}", options_.check ? std::to_string(speed.wrong) : "N/A");
  if (speed.wrong > 0) wrong = terminal_.paint(Style::kRed, wrong);
  return fmt::format("{}  {:6.2f}  {:6.2f} {}", timeText(speed.microseconds), speed.algorithm, speed.bus,
                     wrong);
}

void PerfReport::measured(const PerfCase& c, const std::vector<PerfMessage>& results) {
  const Row row{c, speedOf(c, results, &PerfMessage::outOfPlace), speedOf(c, results, &PerfMessage::inPlace)};
  rows_.push_back(row);
  wrong_ += row.outOfPlace.wrong + row.inPlace.wrong;
  if (options_.json) return;
  writeOut(fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {}  {}\n", c.bytes(), c.count, name(c.type),
                       name(c.op), -1, cells(row.outOfPlace), cells(row.inPlace)));
  std::fflush(stdout);
}

void PerfReport::finish() {
  double bus = 0;
  for (const Row& row : rows_) bus += (row.outOfPlace.bus + row.inPlace.bus) / 2;
  if (!rows_.empty()) bus /= static_cast<double>(rows_.size());
  if (!options_.json) {
    const std::string verdict = wrong_ == 0 ? "OK" : terminal_.paint(Style::kRed, "FAILED");
    writeOut(fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.5g} \n#\n", wrong_,
                         verdict, bus));
    return;
  }
  using Json = nlohmann::ordered_json;
  const auto speedJson = [this](const Speed& s) {
    Json json = {{"time_us", s.microseconds}, {"algbw_gbs", s.algorithm}, {"busbw_gbs", s.bus}};
    json["wrong"] = options_.check ? Json(s.wrong) : Json(nullptr);
    return json;
  };
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < hellos_.size(); ++rank)
    ranks.push_back({{"rank", rank},
                     {"pid", hellos_[rank].pid},
                     {"host", hellos_[rank].text},
                     {"device", hellos_[rank].device}});
  Json results = Json::array();
  for (const Row& row : rows_)
    results.push_back({{"size", row.c.bytes()},
                       {"count", row.c.count},
                       {"type", name(row.c.type)},
                       {"redop", name(row.c.op)},
                       {"out_of_place", speedJson(row.outOfPlace)},
                       {"in_place", speedJson(row.inPlace)}});
  const Json all = {{"format", "xylem-perf-1"},
                    {"collective", "all_reduce"},
                    {"warmup", options_.warmup},
                    {"iterations", options_.iterations},
                    {"ranks", ranks},
                    {"results", results},
                    {"wrong", wrong_},
                    {"avg_busbw_gbs", bus}};
  writeOut(all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace xylem::cli
