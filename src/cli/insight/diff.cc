// xylem diff: what sets two plans apart, from the machine to the choice of algorithms.
#include "insight/diff/diff.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/insight/diff_input.h"
#include "cli/insight/diff_text.h"
#include "insight/diff/json.h"

namespace xylem::cli {
namespace {

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
  xylem diff dgxh100.xml --nodes 2,16      2 hosts and 16
  xylem diff golden.json dgxh100.xml       a plan that `xylem plan --json` wrote, and what would be planned now
  xylem diff dgxh100.xml -                 a description, and this machine

Exit status: 0 the plans are the same (the machines may differ), 1 they differ, 2 an argument, a file or a
variable cannot be used.)";

int runDiff(const DiffArguments& options) {
  const auto [a, b] = readSides(options.input);
  const PlanDiff diff = comparePlans(a, b);
  writeOut(options.json ? diffToJson(diff, a.title, b.title) + "\n"
                        : diffText(diff, a, b, options.view, terminalOf(stdout)));
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
  command.option("A", input.a, "topology XML, a plan in JSON, or - for this machine")
      .required();
  command.option("B", input.b, "the same; none: A again, with other settings");
  command
      .option("--nodes", input.nodes, "number of identical hosts (default 1), of both or of A and of B")
      .value("N[,N]");
  addSettingsOf(command, "--a", "a variable for A, besides those of the environment", input.settingsA);
  addSettingsOf(command, "--b", "a variable for B", input.settingsB);
  command.flag("--fuse", input.job.fuse, "describe each host as its ranks would detect it");
  command.flag("--nvls", input.job.nvls, "the driver offers NVLink multicast (NVLS)");
  command.flag("--collnet", input.job.collnet, "the network computes collectives (CollNet)");
  command.flag("--all", options->view.all, "cut no lists");
  command.flag("--json", options->json, "print JSON, in the format xylem-diff-1");
  command.footer(kDiffExamples);
  command.action([options] { return runDiff(*options); });
}

}  // namespace xylem::cli
