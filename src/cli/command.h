#pragma once
// How the subcommands of `xylem` plug into the program: each has a file that declares its options on the
// CLI11 app and stores what to do when it was chosen.
//
//   void addDetect(CLI::App& app, Action& action) {
//     auto* command = app.add_subcommand("detect", "describe this machine as topology XML");
//     command->callback([&action] { action = [] { return runDetect(); }; });
//   }
//
// An Action returns the exit status; exceptions end in main.cc, which prints them and chooses the status.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace xylem::cli {

using Action = std::function<int()>;

// Exit statuses of every command.
enum ExitStatus : int {
  kOk = 0,
  kFailed = 1,    // the work itself failed: wrong results, a rank died, a time-out
  kBadInput = 2,  // a file, an option or a variable that cannot be used
};

void addDetect(CLI::App& app, Action& action);
void addDiff(CLI::App& app, Action& action);
void addDraw(CLI::App& app, Action& action);
void addOrder(CLI::App& app, Action& action);
void addOptimize(CLI::App& app, Action& action);
void addPerf(CLI::App& app, Action& action);
void addPlan(CLI::App& app, Action& action);
void addPreflight(CLI::App& app, Action& action);
// `program` is `--` and what stood behind it, or nothing.
void addRun(CLI::App& app, Action& action, const std::vector<std::string>& program);
void addSettings(CLI::App& app, Action& action);
void addShow(CLI::App& app, Action& action);
void addStatus(CLI::App& app, Action& action);
void addTune(CLI::App& app, Action& action);
void addWhy(CLI::App& app, Action& action);

}  // namespace xylem::cli
