// xylem diff: the differences between two plans, from the machine to the choice of algorithms.
#include "insight/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/insight/diff_text.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/version_input.h"
#include "core/error.h"
#include "planner/plan/planner.h"

namespace xylem::cli {
namespace {

constexpr int kMaxHostCount = 1 << 24;
// The version of one side, among its variables.
constexpr std::string_view kVersionPrefix = "nccl=";

struct DiffInput {
  std::string a, b;                               // empty b: the same as a
  std::vector<std::string> settingsA, settingsB;  // NAME=VALUE, besides the environment
  std::string nodes;                              // "2", or "2,4" for A and B; empty: defaultHosts()
  JobInput job;                                   // options of both sides' jobs
};

// One side of the comparison: a topology file, this machine, or a plan that `xylem plan --json` wrote.
struct Side {
  std::string file;
  std::string option;  // its option for settings: --a or --b
  std::vector<std::string> settings;
  std::optional<int> nodes;
};

int nodesOf(std::string_view text) {
  int nodes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nodes);
  if (error != std::errc() || end != text.data() + text.size() || nodes < 1 || nodes > kMaxHostCount)
    throw InputError({"--nodes", 0}, fmt::format("`{}`", text),
                     "a number of hosts, or one for A and one for B, as 2,4");
  return nodes;
}

void readNodes(const std::string& text, Side& a, Side& b) {
  if (text.empty()) return;
  const std::size_t comma = text.find(',');
  a.nodes = nodesOf(std::string_view(text).substr(0, comma));
  b.nodes = comma == std::string::npos ? a.nodes : nodesOf(std::string_view(text).substr(comma + 1));
}

void set(Settings& settings, const std::string& pair, const std::string& option) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals + 1 == pair.size())
    throw InputError({option, 0}, fmt::format("`{}`", pair), "NAME=VALUE, as NCCL_CROSS_NIC=0");
  const std::string name = pair.substr(0, equals);
  if (const SettingSpec* spec = findSetting(name))
    return settings.set(*spec, pair.substr(equals + 1), option);
  throw InputError({option, 0}, fmt::format("`{}`, which {}", name, aboutUnknownVariable(name)),
                   "a variable that `xylem settings` lists");
}

// The file's text if it is JSON, as a plan is, unlike topology files.
std::optional<std::string> planText(const std::string& file) {
  if (file == "-") return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  in >> std::ws;
  if (in.peek() != '{' && in.peek() != '[') return std::nullopt;
  in.seekg(0);  // messages count the lines of the whole file
  return std::string(std::istreambuf_iterator<char>(in), {});
}

diff::PlanFacts factsOfPlanFile(const Side& side, const std::string& text) {
  if (!side.settings.empty())
    throw InputError({side.option, 0}, fmt::format("settings for the plan {}", side.file),
                     "a topology file: a plan in JSON is made already");
  return diff::factsOfJson(text, side.file);
}

// The job of a side that is no plan yet.
struct SideJob {
  Settings settings;
  JobRequest request;

  int& hosts() { return request.plan.hosts.front().count; }
};

// `said` collects warnings, so that both sides together print each of them once. With `nodes` 0 the job has
// its default number of hosts.
SideJob readSide(const Side& side, const DiffInput& input, int nodes, std::set<std::string>& said) {
  SideJob read{Settings::fromEnvironment(), {}};
  JobInput job = input.job;
  for (const std::string& pair : side.settings) {
    if (!pair.starts_with(kVersionPrefix)) {
      set(read.settings, pair, side.option);
      continue;
    }
    job.nccl = pair.substr(kVersionPrefix.size());
    versionNamed(job.nccl, read.settings, side.option.c_str());  // throws, naming the side
  }
  for (const std::string& warning : read.settings.warnings())
    if (said.insert(warning).second) warn(warning);
  job.file = side.file;
  job.nodes = side.nodes.value_or(nodes);
  read.request = readJob(job, read.settings);
  return read;
}

diff::PlanFacts planSide(const Side& side, const SideJob& job) {
  const Progress progress(fmt::format("planning {}", machineName(side.file)));
  const plan::Plan plan = plan::planJob(job.request.plan, job.settings);
  warnOfHostsApart(plan);
  warnOfHang(plan);
  diff::PlanFacts facts = diff::factsOf(plan, job.request.plan);
  facts.title = machineName(side.file);
  for (const std::string& pair : side.settings) facts.title += " " + pair;
  return facts;
}

struct Sides {
  diff::PlanFacts a, b;
  std::vector<std::string> assumptions;  // of both
};

// Throws InputError, also if nothing can differ.
Sides readSides(const DiffInput& input) {
  Side a{input.a, "--a", input.settingsA, {}};
  Side b{input.b.empty() ? input.a : input.b, "--b", input.settingsB, {}};
  readNodes(input.nodes, a, b);
  if (input.b.empty() && a.settings == b.settings && a.nodes == b.nodes)
    throw InputError({"arguments", 0}, fmt::format("nothing to compare {} with", machineName(input.a)),
                     "a second file, or a setting of one side: --b NCCL_CROSS_NIC=0");
  const std::optional<std::string> textA = planText(a.file);
  const std::optional<std::string> textB = planText(b.file);
  if (textA && textB && !input.nodes.empty())
    throw InputError({"--nodes", 0}, "two plans", "a topology file: a plan in JSON is made already");
  std::optional<diff::PlanFacts> planA;
  std::optional<diff::PlanFacts> planB;
  if (textA) planA = factsOfPlanFile(a, *textA);
  if (textB) planB = factsOfPlanFile(b, *textB);
  // By default the other side has as many hosts as a plan that was read.
  const auto nodesLike = [](const std::optional<diff::PlanFacts>& plan) {
    return plan && plan->hostCount > 0 ? plan->hostCount : 0;
  };
  std::set<std::string> said;
  std::optional<SideJob> jobA;
  std::optional<SideJob> jobB;
  if (!planA) jobA = readSide(a, input, nodesLike(planB), said);
  if (!planB) jobB = readSide(b, input, nodesLike(planA), said);
  // Both sides have as many hosts by default, also if only one of the machines has NICs.
  if (jobA && jobB && input.nodes.empty())
    jobA->hosts() = jobB->hosts() = std::max(jobA->hosts(), jobB->hosts());
  Sides sides;
  for (const std::optional<SideJob>* job : {&jobA, &jobB}) {
    if (!*job) continue;
    for (const std::string& assumption : (*job)->request.assumptions)
      if (said.insert(assumption).second) sides.assumptions.push_back(assumption);
  }
  sides.a = planA ? std::move(*planA) : planSide(a, *jobA);
  sides.b = planB ? std::move(*planB) : planSide(b, *jobB);
  return sides;
}

struct DiffArguments {
  DiffInput input;
  bool json = false;
  DiffView view;
};

constexpr const char* kDiffExamples = R"(Examples:
  xylem diff old.xml new.xml --nodes 2     two machines: what changed, and what follows from it
  xylem diff dgxh100.xml --nodes 2 --b NCCL_CROSS_NIC=0
                                           what a setting changes
  xylem diff dgxh100.xml --a NCCL_ALGO=Ring --b NCCL_ALGO=Tree
                                           two settings against each other
  xylem diff dgxh100.xml --nodes 2 --nccl 2.27.7 --b nccl=2.30.7
                                           what an upgrade of NCCL changes (xylem upgrade says why)
  xylem diff dgxh100.xml --nodes 2,16      2 hosts and 16
  xylem diff golden.json dgxh100.xml       a plan that `xylem plan --json` wrote, and what would be planned now
  xylem diff dgxh100.xml -                 a description, and this machine

Exit status: 0 the plans are the same (the machines may differ), 1 they differ, 2 an argument, a file or a
variable cannot be used.)";

int runDiff(const DiffArguments& options) {
  const auto [a, b, assumptions] = readSides(options.input);
  const diff::PlanDiff diff = diff::comparePlans(a, b);
  if (options.json)
    writeJson(diff::toJson(diff, a.title, b.title));
  else
    writeOut(diffText(diff, a, b, options.view, terminalOf(stdout)) +
             assumedText(assumptions, terminalOf(stdout)));
  return diff.samePlan() ? kOk : kFailed;
}

void addSettingsOf(Command& command, const char* option, const char* help, std::vector<std::string>& pairs) {
  command.option(option, pairs, help).value("NAME=VALUE").repeats();
}

}  // namespace

void addDiff(CommandLine& line) {
  const auto options = std::make_shared<DiffArguments>();
  DiffInput& input = options->input;
  Command command = line.add("diff", "compare two machines, plans or settings: what follows from what");
  command.option("A", input.a, "topology XML, a plan in JSON, or - for this machine").required();
  command.option("B", input.b, "the same; none: A again, with other settings");
  command
      .option("-n,--nodes", input.nodes,
              "number of identical hosts, of both or of A and of B (default 2 for files with NICs, else 1)")
      .value("N[,N]");
  addSettingsOf(command, "--a", "a variable for A, besides those of the environment, or nccl=VERSION",
                input.settingsA);
  addSettingsOf(command, "--b", "a variable for B, or nccl=VERSION", input.settingsB);
  addVersionOption(command, input.job.nccl);
  command.flag("--fuse", input.job.fuse, "describe each host as its ranks would detect it");
  addOfferOptions(command, input.job);
  command.flag("--all", options->view.all, "cut no lists");
  command.flag("--json", options->json, "print JSON, in the format xylem-diff-1");
  command.footer(kDiffExamples);
  command.action([options] { return runDiff(*options); });
}

}  // namespace xylem::cli
