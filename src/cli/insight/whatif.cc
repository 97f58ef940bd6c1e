// xylem whatif: the effects of changes to a machine or its settings on the plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/bound_view.h"
#include "cli/commands.h"
#include "cli/insight/diff_text.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/text_file.h"
#include "insight/diff/diff.h"
#include "insight/whatif/edit.h"
#include "insight/whatif/score.h"
#include "planner/plan/assumptions.h"
#include "planner/search/graph_file.h"
#include "planner/topology/complete.h"
#include "planner/topology/select_nets.h"

namespace xylem::cli {
namespace {

struct WhatifArguments {
  JobInput job;
  std::vector<std::string> edits;
  std::string output;
  DiffView view;
  bool json = false;
};

constexpr const char* kWhatifExamples =
    R"(GPUs are gpu3 (rank 3 of the host), dev3 or a bus id; NICs net1, mlx5_1 or a bus id; switches go by bus id, CPUs
as numa0. `gpus`, `nets` and `switches` stand for all of them.

Examples:
  xylem whatif dgxh100.xml --nodes 2 'remove net1'       a card fails
  xylem whatif dgx1v.xml 'nvlink gpu0 gpu3 x1'           links are down
  xylem whatif dgxa100.xml --nodes 2 'width net1 x4' 'set NCCL_CROSS_NIC=1'
                                                         one change after the other
  xylem whatif vm.xml --nodes 2 'move nets beside gpus' -o fixed.xml
                                                         and the changed machine as a file

Exit status, with -o too: 0 the plan stays the same, 1 it changes, 2 an argument, a file or a variable cannot be used.)";

std::string editsText() {
  std::string text = "Edits, each as one argument:\n";
  for (const whatif::EditForm& form : whatif::editForms())
    text += fmt::format("  {:<26}{}\n", form.form, form.help);
  return text + "\n";
}

// The answer to the question: the difference of the plans, and of their bandwidths.
struct WhatifReport {
  diff::PlanFacts a, b;
  diff::PlanDiff diff;
  whatif::Scores scoresA, scoresB;
  optimum::ChannelUse channelUse;  // after the changes
};

std::string scoresText(const whatif::Scores& before, const whatif::Scores& after, const Terminal& screen) {
  Table table({{"bandwidth"}, {"A", Align::kRight}, {"B", Align::kRight}});
  for (std::size_t i = 0; i < before.size(); ++i)
    table.add({{whatif::scoreKinds()[i].title},
               {fmt::format("{:.1f}", before[i])},
               {fmt::format("{:.1f}", after[i]), after[i] < before[i] ? Style::kRed : Style::kGreen}});
  return '\n' + table.text(screen, 2);
}

std::string whatifText(const WhatifReport& report, const DiffView& view, const Terminal& screen) {
  return diffText(report.diff, report.a, report.b, view, screen) +
         scoresText(report.scoresA, report.scoresB, screen) + channelUseText(report.channelUse);
}

nlohmann::ordered_json toJson(const WhatifReport& report) {
  nlohmann::ordered_json json = diff::toJson(report.diff, report.a.title, report.b.title);
  json["bandwidth"] = whatif::toJson(report.scoresA, report.scoresB);
  return json;
}

int runWhatif(const WhatifArguments& options) {
  std::vector<whatif::Edit> edits;
  for (const std::string& text : options.edits) edits.push_back(whatif::parseEdit(text));
  if (edits.empty())
    throw InputError({"arguments", 0}, "no edit",
                     "at least one, such as 'remove net1' (see `xylem whatif --help`)");
  const Settings settings = readSettings();
  JobInput input = options.job;
  input.allNets = true;
  JobRequest job = readJob(input, settings);
  plan::PlanRequest& before = job.plan;
  before.hosts.front().topology = std::make_shared<const topology::Document>(
      topology::completeForJob(*before.hosts.front().topology, *plan::rulesFor(before, settings)));
  const rules::Version version = plan::rulesFor(before, settings)->version;
  whatif::Edited edited = whatif::applyEdits({*before.hosts.front().topology, settings}, edits);
  const std::vector<std::string> known = plan::versionWarnings(version, settings);
  for (const std::string& line : plan::versionWarnings(version, edited.settings))
    if (std::ranges::find(known, line) == known.end()) warn(line);
  const std::string changed = topology::writeTopology(edited.document);
  plan::PlanRequest after = before;
  // The variables that select NICs, before and after the edits.
  const auto select = [&](plan::PlanRequest& request, topology::Document document, const Settings& with) {
    if (!isThisMachine(options.job.file)) document = topology::selectNets(std::move(document), with);
    request.hosts.front().topology = std::make_shared<const topology::Document>(std::move(document));
  };
  select(after, std::move(edited.document), edited.settings);
  select(before, *before.hosts.front().topology, settings);
  std::vector<std::string> remarks;
  after.graphFile = search::graphFileOf(edited.settings, &remarks);
  for (const std::string& remark : remarks) warn(remark);

  const std::string machine = machineName(options.job.file);
  Progress progress(fmt::format("planning {}", machine));
  const plan::Plan planBefore = plan::planJob(before, settings);
  progress.say(fmt::format("planning {} as it would be", machine));
  const plan::Plan planAfter = plan::planJob(after, edited.settings);
  progress.say("comparing");
  warnOfHostsApart(planAfter);
  warnOfHang(planAfter);
  if (!options.output.empty()) writeFile(options.output, changed);
  WhatifReport report{
      diff::factsOf(planBefore, before), diff::factsOf(planAfter, after),    {}, whatif::scoresOf(planBefore),
      whatif::scoresOf(planAfter),       optimum::channelUseOf(planAfter, 0)};
  report.a.title = machine;
  report.b.title = machine;
  for (std::size_t i = 0; i < edits.size(); ++i) report.b.title += (i == 0 ? ", " : "; ") + edits[i].text;
  report.diff = diff::comparePlans(report.a, report.b);
  if (options.json) {
    writeJson(toJson(report));
  } else {
    const Terminal screen = terminalOf(stdout);
    writeOut(whatifText(report, options.view, screen) + assumedText(job.assumptions, screen));
    if (!options.output.empty()) writeOut(fmt::format("\nThe changed machine is in {}.\n", options.output));
  }
  return report.diff.samePlan() ? kOk : kFailed;
}

}  // namespace

void addWhatif(CommandLine& line) {
  const auto options = std::make_shared<WhatifArguments>();
  Command command = line.add("whatif", "what would follow from changes to a machine or its settings");
  addMachineOptions(command, options->job);
  command.option("EDIT", options->edits, "a change, see below; several follow each other");
  command.option("-o,--output", options->output, "write the changed machine to FILE").value("FILE");
  command.flag("--all", options->view.all, "cut no lists");
  command.flag("--json", options->json, "print JSON, in the format xylem-diff-1 with `bandwidth`");
  command.footer(editsText() + kWhatifExamples);
  command.action([options] { return runWhatif(*options); });
}

}  // namespace xylem::cli
