#pragma once
// The command line of `xylem`: how a subcommand declares its options, and what becomes of the arguments. The parser
// behind it (CLI11) is seen by command_line.cc alone: its headers take seconds to compile.
//
//   void addShow(CommandLine& line) {
//     const auto options = std::make_shared<Options>();
//     Command command = line.add("show", "draw a machine: nodes, links, and how far apart they are");
//     command.option("FILE", options->file, "topology XML; none or - for this machine");
//     command.option("--links", options->links, "how many to show").value("N").within(0, 100);
//     command.flag("--json", options->json, "print JSON");
//     command.footer(kExamples);
//     command.action([options] { return runShow(*options); });
//   }

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_pages.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace xylem::cli {

// Exit statuses of every command.
enum ExitStatus : int {
  kOk = 0,
  kFailed = 1,    // the work itself failed: wrong results, a rank died, a time-out
  kBadInput = 2,  // a file, an option or a variable that cannot be used
};

// Runs a subcommand and returns the exit status.
using Action = std::function<int()>;

class CommandLine;

// An option or argument that was declared. A handle: copies speak of the same option.
class Option {
 public:
  // What the help calls the value, such as FILE; without it an option that takes one shows none.
  Option& value(const std::string& name);
  Option& required(bool isRequired = true);
  // Integers outside are refused: `--nodes: found `-2`, expected an integer from 1 to 1000`.
  Option& within(std::int64_t minimum, std::int64_t maximum);
  Option& oneOf(const std::vector<std::string>& words);
  // May be given several times; each time takes one value.
  Option& repeats();
  // One value each time, where the list would take all words that follow.
  Option& takesOne();
  // Values may stand in one word, with `mark` between them.
  Option& separatedBy(char mark);
  // Not together with that one.
  Option& excludes(const Option& other);
  Option& mayStandWith(const Option& other);
  // Only together with that one.
  Option& needs(const Option& other);

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// A subcommand that is being declared. A handle, as Option is.
class Command {
 public:
  // `names` are "-o,--output", or a name without hyphens for an argument without an option. `target` keeps its value
  // unless one is given, and outlives parsing.
  Option option(const std::string& names, int& target, const std::string& help);
  Option option(const std::string& names, std::size_t& target, const std::string& help);
  Option option(const std::string& names, std::string& target, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& target, const std::string& help);
  Option option(const std::string& names, std::vector<int>& target, const std::string& help);
  // "!--no-notes" clears `target`.
  Option flag(const std::string& names, bool& target, const std::string& help);

  // One that was declared before.
  Option get(const std::string& name);
  void remove(const Option& option);
  // `option` excludes all others declared until now but --help.
  void excludesOthers(Option option);

  // What stands below the options in the help: examples.
  void footer(const std::string& text);
  void action(Action action);
  // For commands that run a program: `act` gets the program and its arguments, which are the words after `--` or, without
  // it, from the first on that is no option. They are not parsed.
  void actionOnProgram(std::function<int(const std::vector<std::string>& program)> act);

 private:
  friend class CommandLine;
  Command(CLI::App* app, CommandLine* line) : app_(app), line_(line) {}
  template <typename T>
  Option add(const std::string& names, T& target, const std::string& help);

  CLI::App* app_;
  CommandLine* line_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& footer, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command add(const std::string& name, const std::string& summary);

  // What --help knows of every command; the first page is that of `xylem` itself.
  std::vector<CommandPage> pages() const;

  // Either what to do, or that it is done already and how.
  struct Parsed {
    Action action;
    int status = kOk;         // without an action
    std::string complaint;    // what was wrong with the arguments, in a line; empty if nothing was
  };
  // Prints what --help and --version ask for.
  Parsed parse(const std::vector<std::string>& words);

 private:
  friend class Command;
  std::unique_ptr<CLI::App> app_;
  Action chosen_;
  std::vector<std::string> program_;  // `--` and the words after it, of a command that runs a program
};

}  // namespace xylem::cli
