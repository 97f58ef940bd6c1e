#pragma once
// The command line of `xylem`: how a subcommand declares its options, and how the arguments are parsed. Only
// command_line.cc includes the parser behind it (CLI11), whose headers take seconds to compile.
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

#include "cli/pages.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace xylem::cli {

// Exit statuses of every command.
enum ExitStatus : int {
  kOk = 0,
  kFailed = 1,    // the work itself failed: wrong results, a rank that died, a time-out
  kBadInput = 2,  // a file, an option or a variable cannot be used
};

// Runs a subcommand and returns the exit status.
using Action = std::function<int()>;

class CommandLine;

// A declared option or positional argument. A handle: copies refer to the same option.
class Option {
 public:
  // The value's name in the help, such as FILE. Without it the help shows none.
  Option& value(const std::string& name);
  Option& required(bool isRequired = true);
  // Refuses other integers: "--nodes: found `-2`, expected an integer from 1 to 1000".
  Option& within(std::int64_t minimum, std::int64_t maximum);
  Option& oneOf(const std::vector<std::string>& words);
  // The option may be given several times, with one value each time.
  Option& repeats();
  // The option of a list takes one value each time, instead of all words that follow.
  Option& takesOne();
  // One word may hold several values, with `mark` between them.
  Option& separatedBy(char mark);
  // The two options cannot be given together; mayStandWith undoes it.
  Option& excludes(const Option& other);
  Option& mayStandWith(const Option& other);
  // The option can only be given together with the other one.
  Option& needs(const Option& other);

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// A subcommand. A handle: copies refer to the same subcommand.
class Command {
 public:
  // `names` are "-o,--output", or a name without hyphens for a positional argument. `target` keeps its value
  // if the option is not given. It must outlive the action.
  Option option(const std::string& names, int& target, const std::string& help);
  Option option(const std::string& names, std::size_t& target, const std::string& help);
  Option option(const std::string& names, std::string& target, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& target, const std::string& help);
  Option option(const std::string& names, std::vector<int>& target, const std::string& help);
  // Sets `target`; "!--no-notes" clears it.
  Option flag(const std::string& names, bool& target, const std::string& help);

  // An option that was declared before.
  Option get(const std::string& name);
  // `option` excludes all options that are already declared, but not --help.
  void excludesOthers(Option option);

  // Text below the options in the help: examples.
  void footer(const std::string& text);
  void action(Action action);
  // For commands that run a program: `act` gets the program's name and arguments. They are the words after
  // `--` or, without it, those from the first word on that is no option, and are not parsed.
  void actionOnProgram(std::function<int(const std::vector<std::string>& program)> act);

 private:
  friend class CommandLine;
  Command(CLI::App* app, CommandLine* line) : app_(app), line_(line) {}
  template <typename T>
  Option add(const std::string& names, T& target, const std::string& help);
  template <typename T>
  Option addText(const std::string& names, T& target, const std::string& help);

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

  // The help of every command as values; the first page is that of `xylem` itself.
  std::vector<CommandPage> pages() const;
  // The text of `xylem COMMAND --help`, or of `xylem --help` if `command` is empty. There must be such a
  // command.
  std::string help(const std::string& command) const;

  // The chosen action, or the exit status if there is nothing left to do.
  struct Parsed {
    Action action;
    int status = kOk;       // without an action
    std::string complaint;  // one line about arguments that cannot be used; empty if there are none
  };
  // Answers --help and --version itself.
  Parsed parse(const std::vector<std::string>& words);
  // The words that were parsed, and the version, for pages that say how they were made.
  const std::vector<std::string>& words() const { return words_; }
  const std::string& version() const { return version_; }

 private:
  friend class Command;
  std::unique_ptr<CLI::App> app_;
  Action chosen_;
  std::string version_;
  std::vector<std::string> words_;
  std::vector<std::string> program_;  // of a command that runs a program: `--` and the words after it
};

}  // namespace xylem::cli
