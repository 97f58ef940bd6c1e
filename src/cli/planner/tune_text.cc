#include "cli/planner/tune_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/machine_words.h"
#include "cli/size_text.h"
#include "cli/table.h"
#include "planner/tuning/bus_bandwidth.h"
#include "planner/tuning/choice.h"

namespace xylem::cli {
namespace {

// The most used first.
constexpr std::array kOrder = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kBroadcast, Collective::kReduce};
// A runner-up within this factor makes a choice worth measuring.
constexpr float kClose = 1.1f;

std::string timeText(float microseconds) {
  const double us = microseconds;
  if (us < 1e4) return fmt::format("{:.1f} us", us);
  if (us < 1e7) return fmt::format("{:.1f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string candidateName(const Candidate& candidate) {
  return fmt::format("{}/{}", name(candidate.algorithm), name(candidate.protocol));
}

Style styleOf(Algorithm algorithm) {
  if (isNvls(algorithm) || isCollnet(algorithm)) return Style::kMagenta;
  return algorithm == Algorithm::kRing ? Style::kGreen : Style::kCyan;
}

Cell runnerUpCell(const Choice& choice) {
  const Candidate* second = choice.runnerUp();
  if (second == nullptr || choice.best()->time <= 0) return {"none", Style::kDim};
  const float factor = second->time / choice.best()->time;
  return {fmt::format("{} {:.2f}x", candidateName(*second), factor),
          factor < kClose ? Style::kYellow : Style::kDim};
}

std::string jobText(const TuningModel& model, const TuneSubject& subject, const Terminal& screen) {
  const TuningInput& input = model.input;
  std::string text =
      fmt::format("{} on {} of {}: {}\n", screen.paint(Style::kBold, counted(input.ranks, "rank")),
                  counted(subject.hosts, "host"), subject.machine, counted(input.nChannels, "channel"));
  for (const auto& [name, value] : subject.settings) text += fmt::format("set: {}={}\n", name, value);
  return text;
}

std::string collectiveText(const TuningModel& model, Collective collective,
                           std::span<const std::uint64_t> sizes, const Terminal& screen) {
  Table table({{"size", Align::kRight},
               {"algorithm"},
               {"protocol"},
               {"channels", Align::kRight},
               {"warps", Align::kRight},
               {"time", Align::kRight},
               {"bus GB/s", Align::kRight},
               {"runner-up"}});
  for (const std::uint64_t size : sizes) {
    const Choice choice = choose(model, {.collective = collective, .bytes = size});
    const Candidate* best = choice.best();
    if (best == nullptr) return "  " + screen.paint(Style::kRed, "nothing can run it: NCCL fails") + '\n';
    table.add({{sizeText(size)},
               {name(best->algorithm), styleOf(best->algorithm)},
               {name(best->protocol)},
               {std::to_string(choice.channels)},
               {std::to_string(choice.warps)},
               {timeText(best->time)},
               {fmt::format("{:.2f}", busBandwidth(collective, model.input.ranks, size, best->time)),
                Style::kGreen},
               runnerUpCell(choice)});
  }
  return table.text(screen, 2);
}

// A table per collective, one for those that come out alike.
std::vector<std::pair<std::string, std::string>> tables(const TuningModel& model,
                                                        std::span<const std::uint64_t> sizes,
                                                        const Terminal& screen) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Collective collective : kOrder) {
    std::string body = collectiveText(model, collective, sizes, screen);
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.second == body; });
    if (same == all.end())
      all.emplace_back(name(collective), std::move(body));
    else
      same->first += fmt::format(", {}", name(collective));
  }
  return all;
}

// What the job or the settings forbid; not what no job could do.
std::vector<std::string> reasons(const TuningModel& model) {
  std::vector<std::string> all;
  for (const Collective collective : kOrder) {
    const Choice choice = choose(model, {.collective = collective, .bytes = 1});
    for (const Candidate& candidate : choice.ranking) {
      if (candidate.excluded == Exclusion::kNone || candidate.excluded == Exclusion::kOneRank ||
          candidate.excluded == Exclusion::kNotOffered || candidate.excluded == Exclusion::kSimpleOnly)
        continue;
      std::string reason = explain(candidate, choice.operation, model);
      if (std::find(all.begin(), all.end(), reason) == all.end()) all.push_back(std::move(reason));
    }
  }
  return all;
}

}  // namespace

std::string tuneText(const TuningModel& model, std::span<const std::uint64_t> sizes,
                     const TuneSubject& subject, const Terminal& screen) {
  std::string text = jobText(model, subject, screen);
  const auto heading = [&](const std::string& title) {
    return '\n' + screen.paint(Style::kBold, title) + '\n';
  };
  for (const auto& [title, body] : tables(model, sizes, screen)) text += heading(title) + body;
  const std::vector<std::string> out = reasons(model);
  if (!out.empty()) text += heading("Out of the running, and why");
  for (const std::string& reason : out) text += "  " + reason + '\n';
  return text;
}

}  // namespace xylem::cli
