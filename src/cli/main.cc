// The command `xylem`: chooses the subcommand, and turns whatever goes wrong into one line and an exit
// status.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "cli/change_commands.h"
#include "cli/command.h"
#include "cli/pages.h"
#include "cli/terminal.h"
#include "core/edit_distance.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  xylem show                                  this machine: nodes, links, how far apart
  xylem plan dgxh100.xml --nodes 16           what NCCL would do on 16 such hosts
  xylem tune dgxh100.xml --nodes 16           algorithm, protocol and time per message size
  xylem preflight --host a.xml:2 --host b.xml
                                              would a job on different hosts hang
  xylem order dgxh100.xml --nodes 16 --fabric fabric.txt
                                              which order of hosts spares the network
  xylem why dgxh100.xml gdr gpu0 nic3         the reason for a decision
  xylem draw dgxh100.xml -o report.html       a page with all of it, to look at
  xylem diff old.xml new.xml --nodes 2        what a change leads to
  xylem whatif dgxh100.xml --nodes 2 'remove net1'
                                              what would follow from a change
  xylem repair vm.xml --nodes 2               which single change would help most
  xylem lint vm.xml                           what is wrong with a topology file
  xylem vm --host host.xml --guest-map vm.map -o vm.xml
                                              the topology file of a virtual machine
  xylem optimize dgxh100.xml -o graph.xml     the best channels, as a graph file for NCCL
  xylem detect -o node.xml                    this machine as topology XML
  xylem settings --set-only                   which NCCL_* variables are set, and where
  xylem perf all_reduce -p 4                  how fast collectives are here, and whether they are right
  xylem run -n 4 -- python3 train.py          a program on 4 ranks
  xylem status                                what running programs do, and what they wait for

Exit status: 0 done; 1 the work failed, or what compares or checks found something; 2 an argument, a file or a
variable cannot be used. `run` has its program's.
`xylem COMMAND --help` tells about each command.)";

int complain(const std::string& message, ExitStatus status) {
  const std::string line = fmt::format("{} {}\n", terminalOf(stderr).paint(Style::kRed, "xylem:"), message);
  std::fwrite(line.data(), 1, line.size(), stderr);
  return status;
}

std::vector<std::string> commandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> optionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string didYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

// A first word that is no command, before CLI11 takes it for something else.
std::string unknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return "";
  const std::vector<std::string> names = commandNames(app);
  for (const std::string& name : names)
    if (name == words.front()) return "";
  const std::string nearest = nearestWord(words.front(), names);
  return fmt::format("there is no command `{}`{}", words.front(),
                     nearest.empty() ? fmt::format("; the commands are {}", fmt::join(names, ", "))
                                     : didYouMean("`" + nearest + "`"));
}

// An option that the command does not have.
std::string unknownOption(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> names = optionNames(command);
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    if (!option.starts_with("--") || std::find(names.begin(), names.end(), option) != names.end()) continue;
    return fmt::format("`{}` has no option {}{}", command.get_name(), option,
                       didYouMean(nearestWord(option, names)));
  }
  return "";
}

// One line of what CLI11 says, with where to read on.
int complainAboutUsage(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& words) {
  const std::string option =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ? unknownOption(app, words) : "";
  const auto chosen = app.get_subcommands();
  return complain(fmt::format("{} (see `xylem {}--help`)", option.empty() ? error.what() : option,
                              chosen.empty() ? "" : chosen.front()->get_name() + " "),
                  kBadInput);
}

// What was printed may never have arrived. A reader that went away (`| head`) is how it is meant to be.
int finishOutput(int status) {
  if (std::fflush(stdout) != 0) noteOutputError(errno);
  const int error = outputError();
  if (error == 0 || error == EPIPE) return status;
  return complain("cannot write to standard output: " + errnoText(error), kFailed);
}

// `xylem run ... -- PROGRAM ARGUMENTS`: cuts off what is not ours to read, from the mark on.
std::vector<std::string> cutProgram(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "run") return {};
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return {};
  std::vector<std::string> program(mark, words.end());
  words.erase(mark, words.end());
  return program;
}

int run(std::vector<std::string> words) {
  const std::vector<std::string> program = cutProgram(words);
  CLI::App app(
      "Xylem plans and runs collective communication: NCCL's topology engine and API on any machine.",
      "xylem");
  app.set_version_flag("--version", "xylem " XYLEM_VERSION);
  app.footer(kExamples);
  app.require_subcommand(0, 1);  // after it, the name of another is an ordinary word: `xylem man plan`
  Action action;
  addPlan(app, action);
  addTune(app, action);
  addPreflight(app, action);
  addOrder(app, action);
  addShow(app, action);
  addDiff(app, action);
  addWhy(app, action);
  addDraw(app, action);
  addWhatif(app, action);
  addRepair(app, action);
  addLint(app, action);
  addVm(app, action);
  addDetect(app, action);
  addSettings(app, action);
  addOptimize(app, action);
  addPerf(app, action);
  addRun(app, action, program);
  addStatus(app, action);
  addPages(app, action);

  if (words.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kBadInput;
  }
  if (const std::string message = unknownCommand(app, words); !message.empty())
    return complain(message, kBadInput);
  try {
    // CLI11 takes the words from the back.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);  // --help, --version
  } catch (const CLI::ParseError& error) {
    return complainAboutUsage(app, error, words);
  }
  if (!action) return complain("a command is needed (see `xylem --help`)", kBadInput);
  return action();
}

int runGuarded(const std::vector<std::string>& words) {
  try {
    return run(words);
  } catch (const InputError& error) {
    return complain(error.what(), kBadInput);
  } catch (const Error& error) {
    return complain(error.what(), error.code() == ResultCode::kInvalidArgument ? kBadInput : kFailed);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
}

}  // namespace
}  // namespace xylem::cli

int main(int argc, char** argv) {
  // Writing to a reader that went away then fails with EPIPE, here as on the sockets of a job, instead of
  // ending the process without a word.
  signal(SIGPIPE, SIG_IGN);
  const int status = xylem::cli::runGuarded({argv + 1, argv + argc});
  return xylem::cli::finishOutput(status);
}
