// xylem diff: what sets two plans apart, from the machine to the choice of algorithms.
#include "diff/diff.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/diff_input.h"
#include "cli/diff_text.h"
#include "diff/json.h"

namespace xylem::cli {
namespace {

struct Options {
  DiffInput input;
  bool json = false;
  DiffView view;
};

constexpr const char* kExamples = R"(Examples:
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

int runDiff(const Options& options) {
  const auto [a, b] = readSides(options.input);
  const PlanDiff diff = comparePlans(a, b);
  writeOut(options.json ? diffToJson(diff, a.title, b.title) + "\n"
                        : diffText(diff, a, b, options.view, terminalOf(stdout)));
  return diff.samePlan() ? kOk : kFailed;
}

void addSettingsOf(CLI::App& command, const char* option, const char* help, std::vector<std::string>& pairs) {
  command.add_option(option, pairs, help)->type_name("NAME=VALUE")->expected(1)->take_all();
}

}  // namespace

void addDiff(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  DiffInput& input = options->input;
  CLI::App* command =
      app.add_subcommand("diff", "compare two machines, plans or settings: what follows from what");
  command->add_option("A", input.a, "topology XML, a plan in JSON, or - for this machine")
      ->type_name("")
      ->required();
  command->add_option("B", input.b, "the same; none: A again, with other settings")->type_name("");
  command
      ->add_option("--nodes", input.nodes, "number of identical hosts (default 1), of both or of A and of B")
      ->type_name("N[,N]");
  addSettingsOf(*command, "--a", "a variable for A, besides those of the environment", input.settingsA);
  addSettingsOf(*command, "--b", "a variable for B", input.settingsB);
  command->add_flag("--fuse", input.job.fuse, "describe each host as its ranks would detect it");
  command->add_flag("--nvls", input.job.nvls, "the driver offers NVLink multicast (NVLS)");
  command->add_flag("--collnet", input.job.collnet, "the network computes collectives (CollNet)");
  command->add_flag("--all", options->view.all, "cut no lists");
  command->add_flag("--json", options->json, "print JSON, in the format xylem-diff-1");
  command->footer(kExamples);
  command->callback([&action, options] { action = [options] { return runDiff(*options); }; });
}

}  // namespace xylem::cli
