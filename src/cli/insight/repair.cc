// xylem repair: the single changes that would make a job faster.
#include "insight/whatif/repair.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/machine_text.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/text_file.h"

namespace xylem::cli {
namespace {

struct RepairArguments {
  JobInput job;
  std::string output;
  bool all = false;
  bool json = false;
};

// More changes, and more NETs in a row, are counted instead of listed.
constexpr std::size_t kMaxRepairs = 8;
constexpr std::size_t kMaxNets = 8;
// A path with at least this share of a NET's bandwidth does not limit it.
constexpr float kNearlyAll = 0.9f;

constexpr const char* kRepairExamples = R"(Examples:
  xylem repair vm.xml --nodes 2           what holds this machine back, and which single change helps most
  xylem repair dgxh100.xml --nodes 16 --all
                                          every change that helps, not only the best
  xylem repair vm.xml --nodes 2 -o fixed.xml
                                          and the machine with the first of them as a file
  xylem repair vm.xml --nodes 2 --json    for programs, in the format xylem-repair-1

Tried are variables, GPU Direct RDMA of a card or of all, cards in other places, PCI links as wide and as fast as
the best of their kind, NVLinks that are fewer than those of other GPUs. `xylem whatif` shows what follows from
each. Exit status: 0 nothing would help, 1 something would, 2 an argument, a file or a variable cannot be used.)";

std::string stateText(const topology::System& system, const whatif::NetState& state) {
  if (state.nearestGpu == topology::kNoNode || state.narrowest == topology::kNoLink)
    return "no GPU reaches it";
  const topology::Link& link = system.link(state.narrowest);
  std::string text =
      fmt::format("{} from the nearest GPU, {:.1f} GB/s", paths::name(state.type), state.bandwidth);
  // Name the narrowest link only if it limits the NET: if NETs share it, or it is slower than the NET itself.
  if (state.sharers > 1 || state.bandwidth < kNearlyAll * system.net(state.net).bandwidth)
    text += fmt::format("; {:.1f} from {} to {}", link.bandwidth, nodeLabel(system, link.from),
                        nodeLabel(system, link.to));
  if (state.sharers > 1) text += fmt::format(" for {}", counted(state.sharers, "NET"));
  if (state.twin != topology::kNoNode)
    text += fmt::format("; its port is that of {} (guid)", nodeLabel(system, state.twin));
  return state.gdr.empty() ? text : text + "; " + state.gdr;
}

// The repairs that the search found, and which NETs the host uses.
struct RepairReport {
  const whatif::RepairSearch& search;
  std::string machine;
  whatif::HostNets nets;
  std::vector<whatif::Repair> found;
  std::vector<std::string> assumptions;
};

std::string netsText(const RepairReport& report, const Terminal& screen) {
  const topology::System& system = report.nets.system();
  const std::vector<whatif::NetState>& states = report.nets.states();
  if (states.empty()) return "";
  std::map<std::pair<bool, std::string>, std::vector<std::string>> alike;
  std::vector<std::pair<bool, std::string>> order;
  for (const whatif::NetState& state : states) {
    std::pair<bool, std::string> key(state.used, stateText(system, state));
    if (!alike.contains(key)) order.push_back(key);
    alike[key].push_back(std::to_string(system.net(state.net).dev));
  }
  std::string text = screen.heading("NETs of a host, and whether a ring uses them");
  Table table({{"used"}, {"NET"}, {"how it stands"}});
  for (const auto& key : order) {
    const std::vector<std::string>& nets = alike[key];
    std::string list;
    for (std::size_t i = 0; i < nets.size() && i < kMaxNets; ++i) list += (i == 0 ? "" : ",") + nets[i];
    if (nets.size() > kMaxNets) list += fmt::format(" and {} more", nets.size() - kMaxNets);
    table.add({{key.first ? "yes" : "no", key.first ? Style::kGreen : Style::kRed}, {list}, {key.second}});
  }
  return text + table.text(screen, 2);
}

std::string summary(const whatif::RepairSearch& search) {
  std::string text;
  for (std::size_t i = 0; i < search.scores().size(); ++i)
    text +=
        fmt::format("{}{}: {:.1f}", i == 0 ? "" : ", ", whatif::scoreKinds()[i].title, search.scores()[i]);
  const plan::Plan& plan = search.before();
  const int nets = plan.hostOf(0).system().count(topology::NodeType::kNet);
  if (nets > 0) text += fmt::format("; rings use {} of {}", whatif::netsUsed(plan), counted(nets, "NET"));
  return text;
}

// A change, and how many others do the same to other devices.
struct RepairRow {
  const whatif::Repair* repair;
  int alike = 0;
};

// Joins changes of one device each that have the same verb and lead to the same bandwidths.
std::vector<RepairRow> rowsOf(const std::vector<whatif::Repair>& found, bool all) {
  std::vector<RepairRow> rows;
  std::map<std::string, std::size_t> known;
  for (const whatif::Repair& repair : found) {
    std::string key = repair.candidate.edit.substr(0, repair.candidate.edit.find(' '));
    for (const double score : repair.after) key += fmt::format(" {:.1f}", score);
    if (all || repair.candidate.devices != 1) key = repair.candidate.edit;
    const auto [place, isNew] = known.emplace(key, rows.size());
    if (isNew)
      rows.push_back({&repair});
    else
      ++rows[place->second].alike;
  }
  return rows;
}

std::string repairsText(const RepairReport& report, const RepairArguments& options, const Terminal& screen) {
  const whatif::RepairSearch& search = report.search;
  const std::vector<whatif::Repair>& found = report.found;
  const bool unusedNets = search.before().job().hosts() == 1 &&
                          search.before().hostPlans.front()->system().count(topology::NodeType::kNet) > 0;
  if (found.empty())
    return fmt::format(
        "\nNone of {} would help.\n{}", counted(search.tried(), "single change") + " that were tried",
        unusedNets ? "A job on one host uses no NICs: --nodes 2 asks about one that does.\n" : "");
  std::string text =
      screen.heading(fmt::format("What would help, of {} single changes tried", search.tried()));
  std::vector<Column> columns;
  for (const whatif::ScoreKind& kind : whatif::scoreKinds()) columns.push_back({kind.title, Align::kRight});
  columns.push_back({"NETs", Align::kRight});
  columns.push_back({"change"});
  columns.push_back({"edit"});
  Table table(columns);
  const std::vector<RepairRow> rows = rowsOf(found, options.all);
  for (std::size_t i = 0; i < rows.size() && (options.all || i < kMaxRepairs); ++i) {
    const whatif::Repair& repair = *rows[i].repair;
    std::vector<Cell> row;
    for (const double score : repair.after) row.push_back({fmt::format("{:.1f}", score)});
    row.push_back({std::to_string(repair.netsUsed)});
    row.push_back(
        {repair.candidate.what + (rows[i].alike > 0 ? fmt::format(", or {} alike", rows[i].alike) : "")});
    row.push_back({fmt::format("'{}'", repair.candidate.edit), Style::kGreen});
    table.add(std::move(row));
  }
  text += table.text(screen, 2);
  if (!options.all && rows.size() > kMaxRepairs)
    text += fmt::format("  and {} more (--all)\n", rows.size() - kMaxRepairs);
  const std::string hosts =
      search.before().job().hosts() > 1 ? fmt::format(" --nodes {}", search.before().job().hosts()) : "";
  text += fmt::format("\nThe first: {}\nIts effect: xylem whatif {}{} '{}' (with -o, written)\n",
                      found[0].candidate.todo, options.job.file, hosts, found[0].candidate.edit);
  return text;
}

std::string repairText(const RepairReport& report, const RepairArguments& options, const Terminal& screen) {
  const plan::Plan& plan = report.search.before();
  return fmt::format("{}: {} on {}\n{}{}\n", screen.paint(Style::kBold, report.machine),
                     counted(plan.job().ranks(), "rank"), counted(plan.job().hosts(), "host"),
                     conditionsText(plan, report.assumptions, screen), summary(report.search)) +
         netsText(report, screen) + repairsText(report, options, screen);
}

int runRepair(const RepairArguments& options) {
  const Settings settings = readSettings();
  const std::string machine = machineName(options.job.file);
  Progress progress(fmt::format("planning {}", machine));
  const JobRequest job = readJob(options.job, settings);
  whatif::RepairSearch search(job.plan, settings);
  while (search.next()) progress.say(fmt::format("change {} of {}", search.tried(), search.total()));
  const RepairReport report{search, machine, whatif::HostNets(search.before()), search.found(),
                            job.assumptions};
  const bool writes = !options.output.empty() && !report.found.empty();
  if (writes) writeFile(options.output, topology::writeTopology(search.withFirst().document));
  if (options.json) {
    writeJson(whatif::toJson(search, machine));
  } else {
    writeOut(repairText(report, options, terminalOf(stdout)));
    if (writes) writeOut(fmt::format("The machine with the first of them is in {}.\n", options.output));
  }
  return report.found.empty() ? kOk : kFailed;
}

}  // namespace

void addRepair(CommandLine& line) {
  const auto options = std::make_shared<RepairArguments>();
  Command command = line.add("repair", "which single change to a machine or a setting would help most");
  addMachineOptions(command, options->job);
  command.option("-o,--output", options->output, "write the machine with the first change to FILE")
      .value("FILE");
  command.flag("--all", options->all, "every change that helps");
  command.flag("--json", options->json, "print JSON, in the format xylem-repair-1");
  command.footer(kRepairExamples);
  command.action([options] { return runRepair(*options); });
}

}  // namespace xylem::cli
