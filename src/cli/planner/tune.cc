// xylem tune: the algorithm and protocol that NCCL would choose for each message size, and the time that it
// predicts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/bound_view.h"
#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/table.h"
#include "core/log.h"
#include "planner/plan/plan_json.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/tuning_log.h"

namespace xylem::cli {
namespace {

// The order of the tables: the collectives used most come first.
constexpr std::array kOrder = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kBroadcast, Collective::kReduce};
// A runner-up within this factor makes a choice worth measuring.
constexpr float kClose = 1.1f;

// The values that the text and the JSON show.
struct TuneReport {
  const plan::Plan& plan;
  const tuning::TuningModel& model;
  std::string machine;
  ByCollective<std::vector<tuning::Choice>> choices;  // one per size
  // Why algorithms are excluded, each reason once: those of this job and of its settings, not those that
  // hold for all jobs.
  std::vector<std::string> excluded;
  std::vector<std::string> assumptions = {};
  optimum::ChannelUse channelUse = {};
};

std::string timeText(float microseconds) {
  const double us = microseconds;
  if (us < 1e4) return fmt::format("{:.1f} us", us);
  if (us < 1e7) return fmt::format("{:.1f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string candidateName(const tuning::Candidate& candidate) {
  return fmt::format("{}/{}", name(candidate.algorithm), name(candidate.protocol));
}

Style styleOf(Algorithm algorithm) {
  if (isNvls(algorithm) || isCollnet(algorithm)) return Style::kMagenta;
  return algorithm == Algorithm::kRing ? Style::kGreen : Style::kCyan;
}

Cell runnerUpCell(const tuning::Choice& choice) {
  const tuning::Candidate* second = choice.runnerUp();
  if (second == nullptr || choice.best()->time <= 0) return {"none", Style::kDim};
  const float factor = second->time / choice.best()->time;
  return {fmt::format("{} {:.2f}x", candidateName(*second), factor),
          factor < kClose ? Style::kYellow : Style::kDim};
}

std::string jobText(const TuneReport& report, const Terminal& screen) {
  const tuning::TuningInput& input = report.model.input;
  const std::string text = fmt::format(
      "{} on {} of {}: {}\n", screen.paint(Style::kBold, counted(input.ranks, "rank")),
      counted(report.plan.job().hosts(), "host"), report.machine, counted(input.nChannels, "channel"));
  return text + conditionsText(report.plan, report.assumptions, screen);
}

std::string collectiveText(const TuneReport& report, Collective collective, const Terminal& screen) {
  Table table({{"size", Align::kRight},
               {"algorithm"},
               {"protocol"},
               {"channels", Align::kRight},
               {"warps", Align::kRight},
               {"time", Align::kRight},
               {"bus GB/s", Align::kRight},
               {"runner-up"}});
  for (const tuning::Choice& choice : report.choices[collective]) {
    const tuning::Candidate* best = choice.best();
    if (best == nullptr) return "  " + screen.paint(Style::kRed, "nothing can run it: NCCL fails") + '\n';
    table.add({{sizeText(choice.operation.bytes)},
               {name(best->algorithm), styleOf(best->algorithm)},
               {name(best->protocol)},
               {std::to_string(choice.channels)},
               {std::to_string(choice.warps)},
               {timeText(best->time)},
               {fmt::format("{:.2f}", tuning::busBandwidth(collective, report.model.input.ranks,
                                                           choice.operation.bytes, best->time)),
                Style::kGreen},
               runnerUpCell(choice)});
  }
  return table.text(screen, 2);
}

// Titles and tables: one per collective, or one for several collectives whose tables are the same.
std::vector<std::pair<std::string, std::string>> tables(const TuneReport& report, const Terminal& screen) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Collective collective : kOrder) {
    std::string body = collectiveText(report, collective, screen);
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.second == body; });
    if (same == all.end())
      all.emplace_back(name(collective), std::move(body));
    else
      same->first += fmt::format(", {}", name(collective));
  }
  return all;
}

std::vector<std::string> reasons(const tuning::TuningModel& model) {
  std::vector<std::string> all;
  for (const Collective collective : kOrder)
    for (std::string& reason :
         tuning::exclusionReasons(tuning::choose(model, {.collective = collective, .bytes = 1}), model))
      if (std::find(all.begin(), all.end(), reason) == all.end()) all.push_back(std::move(reason));
  return all;
}

TuneReport reportOf(const plan::Plan& plan, const tuning::TuningModel& model, const std::string& machine,
                    std::span<const std::uint64_t> sizes) {
  TuneReport report{plan, model, machine, {}, reasons(model)};
  for (const Collective collective : kAllCollectives)
    for (const std::uint64_t size : sizes)
      report.choices[collective].push_back(tuning::choose(model, {.collective = collective, .bytes = size}));
  return report;
}

// Per collective and size the choice, its time and bus bandwidth and how close the runner-up is; then what is
// excluded.
std::string tuneText(const TuneReport& report, const Terminal& screen) {
  std::string text = jobText(report, screen);
  for (const auto& [title, body] : tables(report, screen)) text += screen.heading(title) + body;
  if (!report.excluded.empty()) text += screen.heading("Out of the running, and why");
  for (const std::string& reason : report.excluded) text += "  " + reason + '\n';
  return text + channelUseText(report.channelUse);
}

plan::Json fullChoiceJson(const tuning::TuningModel& model, const tuning::Choice& choice) {
  const tuning::Operation& operation = choice.operation;
  plan::Json json = plan::choiceJson(choice);
  if (const tuning::Candidate* best = choice.best())
    json["busBandwidth"] =
        tuning::busBandwidth(operation.collective, model.input.ranks, operation.bytes, best->time);
  json["candidates"] = plan::Json::array();
  json["excluded"] = plan::Json::array();
  for (const tuning::Candidate& candidate : choice.ranking) {
    plan::Json entry = {{"algorithm", name(candidate.algorithm)}, {"protocol", name(candidate.protocol)}};
    const bool runs = candidate.excluded == tuning::Exclusion::kNone;
    if (runs)
      entry["time"] = plan::number(candidate.time);
    else
      entry["reason"] = tuning::explain(candidate, operation, model);
    json[runs ? "candidates" : "excluded"].push_back(std::move(entry));
  }
  return json;
}

// The `tuning` section of `xylem plan --json`, with every candidate of every choice.
plan::Json toJson(const TuneReport& report) {
  plan::Json tuning = plan::tuningTablesJson(report.model);
  for (const Collective collective : kAllCollectives)
    for (const tuning::Choice& choice : report.choices[collective])
      tuning["choice"][name(collective)].push_back(fullChoiceJson(report.model, choice));
  return {{"format", "xylem-tune-1"},
          {"input",
           {{"topology", report.machine},
            {"hosts", report.plan.job().hosts()},
            {"nccl", rules::versionText(report.plan.nccl->version)},
            {"settings", plan::settingsJson(report.plan)},
            {"assumed", report.assumptions}}},
          {"channels",
           {{"job", report.channelUse.channels},
            {"searched", report.channelUse.searched},
            {"used", report.channelUse.used},
            {"predictionIgnoresThem", report.channelUse.isIgnored()},
            {"bandwidth", report.channelUse.bandwidth},
            {"bound", report.channelUse.bound}}},
          {"tuning", tuning}};
}

struct TuneArguments {
  JobInput job;
  int rank = 0;
  bool json = false;
  std::vector<std::string> sizes;
  bool calibrate = false;
  CalibrationOptions calibration;
};

constexpr int kMaxRounds = 1000;

constexpr const char* kTuneExamples = R"(Examples:
  xylem tune dgxh100.xml --nodes 2              the five collectives, 8 bytes to 8 GiB
  xylem tune dgxh100.xml --sizes 64K,1M,16M     these sizes
  NCCL_ALGO=Ring xylem tune dgxh100.xml --nodes 2
                                                what a setting changes
  NCCL_DEBUG=INFO xylem tune dgxh100.xml        with the lines that NCCL would log
  xylem tune dgxh100.xml --json                 all candidates, and why others are none
  xylem tune --calibrate                        measure this machine's cores: prints the XYLEM_HOST_MODEL by
                                                which jobs on host devices should choose, and remembers the
                                                XYLEM_COPY_CHOICES by which data moves (docs/copying.md)
  xylem tune --calibrate --rounds 51 --json     more rounds, for busy machines; all that was measured
  XYLEM_HOST_MODEL=ll.hop=0.1,net.bw=1.2 xylem tune - --nodes 2
                                                what other constants would change on this machine

Times are what NCCL's own model predicts, which is what it chooses by; for host devices, what a model of their own
does (docs/calibration.md). Sizes count all ranks' data for AllGather and ReduceScatter, and bus bandwidth is what each
rank's link carries, both as in nccl-tests.)";

std::vector<std::uint64_t> sizesOf(const TuneArguments& options) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& size : options.sizes) sizes.push_back(parseBytes(size, "--sizes"));
  return sizes.empty() ? tuning::choiceSizes() : sizes;
}

int runTune(const TuneArguments& options) {
  const std::vector<std::uint64_t> sizes = sizesOf(options);
  const Settings settings = readSettings();
  // NCCL's log lines go to standard output, where they would spoil the JSON.
  const Logger log(settings, kPlannerSubsystems, options.json ? stderr : stdout);
  const PlannedJob planned = planForRank(options.job, settings, options.rank);
  const plan::Plan& plan = planned.plan;
  warnOfHostsApart(plan);
  warnOfHang(plan);
  const tuning::TuningModel& model = plan.tuning[static_cast<std::size_t>(plan.job().viewOf(options.rank))];
  for (const LogLine& line : tuning::tuningLines(model)) log.write(line);
  TuneReport report = reportOf(plan, model, jobName(options.job), sizes);
  report.assumptions = planned.assumptions;
  report.channelUse = optimum::channelUseOf(plan, options.rank);
  if (options.json)
    writeJson(toJson(report));
  else
    writeOut(tuneText(report, terminalOf(stdout)));
  return kOk;
}

// `xylem tune --calibrate` measures this machine and takes no job.
void addCalibration(Command& command, TuneArguments& options) {
  const Option calibrate = command.flag(
      "--calibrate", options.calibrate,
      "measure this machine's cores: print the model's constants for them, and remember how data moves "
      "between them until the next start of the machine");
  command.excludesOthers(calibrate);
  command.option("--rounds", options.calibration.rounds, "how often everything is measured (default 11)")
      .value("N")
      .within(1, kMaxRounds)
      .needs(calibrate);
}

}  // namespace

void addTune(CommandLine& line, Calibrate calibrate) {
  const auto options = std::make_shared<TuneArguments>();
  Command command = line.add("tune", "choose algorithm and protocol per message size, as NCCL would");
  addJobOptions(command, options->job);
  command.option("--rank", options->rank, "as this rank chooses (default 0)").value("R").within(0, 1 << 24);
  command.option("--sizes", options->sizes, "message sizes, such as 8,64K,1.5M (default 8 to 8G)")
      .value("SIZE,...")
      .separatedBy(',');
  if (calibrate != nullptr) addCalibration(command, *options);
  command.flag("--json", options->json, "print JSON");
  command.footer(kTuneExamples);
  command.action([options, calibrate] {
    if (!options->calibrate) return runTune(*options);
    options->calibration.json = options->json;
    return calibrate(options->calibration);
  });
}

}  // namespace xylem::cli
