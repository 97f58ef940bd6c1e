// xylem tune --calibrate: measures this machine and prints the XYLEM_HOST_MODEL that describes it, with how
// well a model with these constants would choose; and remembers how data moves the fastest between its cores. docs/calibration.md and
// docs/copying.md explain method and output.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/calibrate/host_bench.h"
#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "planner/plan/json_value.h"
#include "planner/tuning/choice.h"
#include "runtime/collectives/calibration.h"
#include "runtime/comm/join/choose_copies.h"
#include "runtime/device/host_device.h"

namespace xylem::cli {
namespace {

struct CalibratedSize {
  std::uint64_t bytes = 0;
  ByProtocol<double> measured{};   // microseconds, lower quartile over the rounds
  ByProtocol<double> predicted{};  // by the fitted model
  double net = 0;                  // microseconds; 0: not measured
  Protocol fastest = Protocol::kLl;
  Protocol chosen = Protocol::kLl;

  // How much slower the choice is than the fastest protocol: 0.1 is 10 %.
  double loss() const { return measured[chosen] / measured[fastest] - 1; }
};

// How data moves between two ranks of this host: what is the fastest here, and where that is remembered.
struct CopyReport {
  std::string cores;  // the kind of pair that the ranks have
  collectives::Calibration found;
  std::string file;
  std::string problem;  // why it was not measured, or is not remembered; empty if it is
};

struct CalibrationReport {
  tuning::HostFit fit;
  int rounds = 0;
  int cores = 0;
  std::string netProblem;  // why the network could not be measured; empty if it was
  std::vector<CalibratedSize> sizes;
  std::vector<CopyReport> copies;

  // The number of sizes at which the model chooses the fastest protocol, or one that is as fast within the
  // noise.
  int agreeing() const;
  double worstLoss() const;
  // True if the rounds differ so much that the constants are worth little.
  bool noisy() const;
};

// Measuring how data moves takes a tenth of this on a machine that does nothing else.
constexpr std::chrono::seconds kCopiesTime{60};
// Times that differ by less count as the same: two runs differ by more.
constexpr double kSameWithin = 0.05;
// The rounds are noisy if their middle half is wider than this share of the constant.
constexpr double kNoisySpread = 0.5;

// The model of the measured job: two ranks on one host with one channel.
tuning::TuningModel modelOfTwo(const tuning::HostModel& constants) {
  tuning::TuningInput input{.rules = rules::newestRules(), .ranks = 2, .nodes = 1, .maxLocalRanks = 2};
  input.hostDevices = true;
  input.nChannels = 1;
  input.graphs[search::GraphKind::kRing].nChannels = 1;
  tuning::TuningOptions options;
  options.host = constants;
  for (const Collective c : kAllCollectives)
    for (const Algorithm a : kAllAlgorithms) options.algorithms[c][a] = a == Algorithm::kRing;
  return tuning::computeTuning(input, options);
}

std::string commaText(const transport::CopyChoices& choices) {
  std::string text = choices.text();
  std::replace(text.begin(), text.end(), ' ', ',');
  return text;
}

std::string timeText(double microseconds) {
  return microseconds < 100 ? fmt::format("{:.2f}", microseconds) : fmt::format("{:.0f}", microseconds);
}

std::string constantsText(const CalibrationReport& report, const Terminal& terminal) {
  Table table({{"constant"}, {"value", Align::kRight}, {"unit"}, {"middle half of the rounds"}});
  tuning::HostModel model = report.fit.model;
  const auto constants = tuning::constantsOf(model);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const tuning::Spread& spread = report.fit.spread[i];
    const bool assumed = !report.netProblem.empty() && constants[i].name.starts_with("net.");
    table.add(
        {{std::string(constants[i].name), Style::kBold},
         {fmt::format("{:.3g}", *constants[i].value)},
         {constants[i].unit},
         {assumed ? "not measured: the default" : fmt::format("{:.3g} to {:.3g}", spread.low, spread.high),
          Style::kDim}});
  }
  return table.text(terminal, 2);
}

std::string sizesText(const CalibrationReport& report, const Terminal& terminal) {
  Table table({{"size", Align::kRight},
               {"LL", Align::kRight},
               {"LL128", Align::kRight},
               {"Simple", Align::kRight},
               {"NET", Align::kRight},
               {"fastest"},
               {"the model's choice"}});
  for (const CalibratedSize& size : report.sizes) {
    std::vector<Cell> cells = {{sizeText(size.bytes)}};
    for (const Protocol p : kAllProtocols)
      cells.push_back({timeText(size.measured[p]), p == size.fastest ? Style::kGreen : Style::kPlain});
    cells.push_back({size.net > 0 ? timeText(size.net) : "-"});
    cells.push_back({name(size.fastest)});
    const bool same = size.chosen == size.fastest;
    cells.push_back(
        {same ? name(size.chosen) : fmt::format("{}, {:.0f} % slower", name(size.chosen), 100 * size.loss()),
         size.loss() <= kSameWithin ? Style::kPlain : Style::kYellow});
    table.add(std::move(cells));
  }
  return table.text(terminal, 2);
}

std::string copiesText(const CopyReport& report, const Terminal& terminal) {
  const std::string title = fmt::format("How data moves between two ranks on {}, us", report.cores);
  std::string text = "\n" + terminal.paint(Style::kBold, title) + "\n";
  Table table({{"size", Align::kRight}, {"operation"}, {"ways"}});
  for (const collectives::TimedWays& timed : report.found.timed) {
    std::string ways;
    for (std::size_t i = 0; i < timed.ways.size(); ++i)
      ways += fmt::format("{}{} {}", i == 0 ? "" : ", ", timed.ways[i], timeText(timed.microseconds[i]));
    table.add({{sizeText(timed.bytes)}, {timed.operation}, {ways}});
  }
  text += table.text(terminal, 2) + "\n";
  text +=
      report.problem.empty()
          ? fmt::format(
                "Jobs begin so if the first and the last rank of a host are on {}, and try other ways while "
                "they run: it is remembered in {}, and nothing has to be set.\n",
                report.cores, report.file)
          : fmt::format("It is not remembered: {}\n", report.problem);
  return text + fmt::format("To keep ranks to it: XYLEM_COPY_CHOICES={}\n", commaText(report.found.choices));
}

int CalibrationReport::agreeing() const {
  return static_cast<int>(
      std::count_if(sizes.begin(), sizes.end(), [](const auto& s) { return s.loss() <= kSameWithin; }));
}

double CalibrationReport::worstLoss() const {
  double worst = 0;
  for (const CalibratedSize& size : sizes) worst = std::max(worst, size.loss());
  return worst;
}

bool CalibrationReport::noisy() const {
  tuning::HostModel model = fit.model;
  const auto constants = tuning::constantsOf(model);
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (fit.spread[i].high - fit.spread[i].low > kNoisySpread * *constants[i].value) return true;
  return false;
}

// Per size the quiet times (the lower quartile over the rounds) beside the predictions and the choice of the
// fitted model.
CalibrationReport reportOf(std::span<const tuning::HostRound> rounds, const tuning::HostFit& fit) {
  CalibrationReport report{
      .fit = fit, .rounds = static_cast<int>(rounds.size()), .netProblem = {}, .sizes = {}};
  const auto quietTimes = [&](const auto& part) {
    std::vector<std::vector<tuning::HostSample>> parts;
    for (const tuning::HostRound& round : rounds) parts.push_back(part(round));
    return tuning::lowerQuartiles(parts);
  };
  ByProtocol<std::vector<tuning::HostSample>> quiet;
  for (const Protocol p : kAllProtocols)
    quiet[p] = quietTimes([p](const tuning::HostRound& r) { return r.protocols[p]; });
  const auto net = quietTimes([](const tuning::HostRound& r) { return r.net; });
  const tuning::TuningModel model = modelOfTwo(fit.model);
  for (std::size_t i = 0; i < quiet.front().size(); ++i) {
    CalibratedSize size;
    size.bytes = static_cast<std::uint64_t>(quiet.front()[i].bytes);
    const tuning::Operation operation{.collective = Collective::kAllReduce, .bytes = size.bytes};
    for (const Protocol p : kAllProtocols) {
      size.measured[p] = quiet[p][i].microseconds;
      size.predicted[p] = tuning::predictedTime(model, operation, Algorithm::kRing, p);
    }
    if (!net.empty()) size.net = net[i].microseconds;
    const auto fastest = std::min_element(size.measured.begin(), size.measured.end());
    size.fastest = static_cast<Protocol>(fastest - size.measured.begin());
    size.chosen = tuning::choose(model, operation).best()->protocol;
    report.sizes.push_back(size);
  }
  return report;
}

std::string calibrationText(const CalibrationReport& report, const Terminal& terminal) {
  std::string text = fmt::format("{} ranks on {} cores, {} rounds\n\n", 2, report.cores, report.rounds);
  text += terminal.paint(Style::kBold, "Constants") + "\n" + constantsText(report, terminal);
  text +=
      "\n" + terminal.paint(Style::kBold, "AllReduce of two ranks, us") + "\n" + sizesText(report, terminal);
  text += fmt::format(
      "\nThe model chooses the fastest, within {:.0f} %, at {} of {} sizes; at worst it loses {:.0f} %.\n",
      100 * kSameWithin, report.agreeing(), report.sizes.size(), 100 * report.worstLoss());
  if (!report.netProblem.empty())
    text += fmt::format("The network was not measured: {}\n", report.netProblem);
  if (report.noisy())
    text +=
        terminal.paint(Style::kYellow,
                       "The rounds differ much: was the machine busy? Try again, or with more --rounds.") +
        "\n";
  for (const CopyReport& copies : report.copies) text += copiesText(copies, terminal);
  if (report.copies.empty()) text += "\nHow data moves was not measured: there is one core.\n";
  return text +
         "\nFor the environment of all ranks, or ~/.nccl.conf:\nXYLEM_HOST_MODEL=" + report.fit.model.text() +
         "\n";
}

plan::Json toJson(const CopyReport& report) {
  plan::Json json = {{"cores", report.cores},
                     {"XYLEM_COPY_CHOICES", commaText(report.found.choices)},
                     {"file", report.file}};
  if (!report.problem.empty()) json["problem"] = report.problem;
  for (const collectives::TimedWays& timed : report.found.timed)
    for (std::size_t i = 0; i < timed.ways.size(); ++i)
      json["times"].push_back({{"operation", timed.operation},
                               {"bytes", timed.bytes},
                               {"way", timed.ways[i]},
                               {"microseconds", timed.microseconds[i]}});
  return json;
}

plan::Json toJson(const CalibrationReport& report) {
  plan::Json constants = plan::Json::object();
  tuning::HostModel model = report.fit.model;
  const auto all = tuning::constantsOf(model);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool assumed = !report.netProblem.empty() && all[i].name.starts_with("net.");
    plan::Json& constant = constants[std::string(all[i].name)];
    constant = {{"value", plan::number(*all[i].value)}, {"unit", all[i].unit}, {"measured", !assumed}};
    if (!assumed) {
      constant["low"] = plan::number(report.fit.spread[i].low);
      constant["high"] = plan::number(report.fit.spread[i].high);
    }
  }
  plan::Json sizes = plan::Json::array();
  for (const CalibratedSize& size : report.sizes) {
    plan::Json entry = {{"bytes", size.bytes},
                        {"fastest", name(size.fastest)},
                        {"chosen", name(size.chosen)},
                        {"loss", size.loss()}};
    for (const Protocol p : kAllProtocols) {
      entry["measured"][name(p)] = size.measured[p];
      entry["predicted"][name(p)] = size.predicted[p];
    }
    if (size.net > 0) entry["measured"]["NET"] = size.net;
    sizes.push_back(std::move(entry));
  }
  plan::Json json = {{"format", "xylem-calibration-1"}, {"ranks", 2},
                     {"cores", report.cores},           {"rounds", report.rounds},
                     {"constants", constants},          {"sizes", sizes},
                     {"agreeing", report.agreeing()},   {"worstLoss", report.worstLoss()},
                     {"noisy", report.noisy()},         {"XYLEM_HOST_MODEL", report.fit.model.text()}};
  json["copies"] = plan::Json::array();
  for (const CopyReport& copies : report.copies) json["copies"].push_back(toJson(copies));
  if (!report.netProblem.empty()) json["netProblem"] = report.netProblem;
  return json;
}

// Measures and remembers how data moves between two cores of this host.
CopyReport calibrateCopies(const device::CorePair& cores, int rounds) {
  const transport::MachineKey key = comm::machineKey(cores);
  const auto file = transport::ChoiceFile::of(key);
  CopyReport report{key.pair, {}, file.path(), {}};
  try {
    report.found = collectives::calibrate(cores, {.time = kCopiesTime, .repeats = rounds, .large = true});
    report.problem =
        report.found.complete
            ? file.remember(key, {report.found.choices, report.found.numbers(), report.found.steps})
            : "time ran out before all was measured";
  } catch (const std::exception& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

int runCalibration(const CalibrationOptions& options) {
  const Settings settings = readSettings();
  // NCCL's log lines go to standard output, where they would spoil the JSON.
  const auto log =
      std::make_shared<const Logger>(settings, kDefaultSubsystems, options.json ? stderr : stdout);
  CalibrationReport report;
  {
    Progress progress("joining two ranks");
    HostBench bench(settings, log);
    const std::vector<tuning::HostRound> rounds = bench.measure(options.rounds, [&](int round) {
      progress.say(fmt::format("measuring: round {} of {}", round + 1, options.rounds));
    });
    report = reportOf(rounds, tuning::fitHostModel(rounds));
    report.netProblem = bench.netProblem();
    for (const device::CorePair& cores : device::corePairs(device::coreSet())) {
      progress.say("measuring how data moves");
      report.copies.push_back(calibrateCopies(cores, options.rounds));
    }
  }
  report.cores = device::coreCount();
  if (options.json)
    writeJson(toJson(report));
  else
    writeOut(calibrationText(report, terminalOf(stdout)));
  return kOk;
}

}  // namespace xylem::cli
