// xylem man, completion, help and version: the text of --help for man(1), for shells and for the terminal.
#include "cli/pages.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "core/edit_distance.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

constexpr const char* kManExamples = R"(Examples:
  xylem man perf | man -l -        read the page of a command
  xylem man --output share/man     all pages, as share/man/man1/xylem*.1)";

constexpr const char* kCompletionExamples = R"text(Examples:
  eval "$(xylem completion bash)"                               in ~/.bashrc
  eval "$(xylem completion zsh)"                                in ~/.zshrc, after compinit
  xylem completion fish > ~/.config/fish/completions/xylem.fish

Packages and `cmake --install` put these where the shells look.)text";

constexpr const char* kHelpExamples = R"(Examples:
  xylem help                       all commands, as `xylem --help`
  xylem help plan                  the options of a command, with examples, as `xylem plan --help`)";

constexpr const char* kVersionExamples = R"(Examples:
  xylem version                    as `xylem --version`)";

void requireCommand(const std::vector<CommandPage>& pages, const std::string& command) {
  std::vector<std::string> names;
  for (const CommandPage& page : pages) {
    if (page.name == command) return;
    names.push_back(page.name);
  }
  const std::string nearest = nearestWord(command, names);
  throw InputError({"COMMAND", 0}, "`" + command + "`",
                   "a command that `xylem --help` lists" + (nearest.empty() ? "" : ", as " + nearest));
}

void writePages(const std::vector<CommandPage>& pages, const std::string& folder) {
  const std::filesystem::path section = std::filesystem::path(folder) / "man1";
  std::error_code error;
  std::filesystem::create_directories(section, error);
  for (const CommandPage& page : pages) {
    const std::filesystem::path path = section / (manPageName(page.name) + ".1");
    std::ofstream file(path);
    file << manPage(pages, page.name, XYLEM_VERSION);
    if (!file.flush())
      throw Error(ResultCode::kSystemError, "cannot write {}: {}", path.string(), errnoText(errno));
  }
}

void addMan(CommandLine& line) {
  struct Options {
    std::string command, folder;
  };
  const auto o = std::make_shared<Options>();
  Command command = line.add("man", "print the manual page of a command, or write all");
  command.option("COMMAND", o->command, "the command; none: xylem itself");
  command.option("--output", o->folder, "write all pages into DIR/man1 instead").value("DIR");
  command.footer(kManExamples);
  command.action([&line, o] {
    const std::vector<CommandPage> pages = line.pages();
    requireCommand(pages, o->command);
    if (o->folder.empty())
      writeOut(manPage(pages, o->command, XYLEM_VERSION));
    else
      writePages(pages, o->folder);
    return kOk;
  });
}

void addCompletion(CommandLine& line) {
  const auto shell = std::make_shared<std::string>();
  Command command = line.add("completion", "print what makes the Tab key complete commands and options");
  command.option("SHELL", *shell, "bash, zsh or fish").required().oneOf({"bash", "zsh", "fish"});
  command.footer(kCompletionExamples);
  command.action([&line, shell] {
    const auto make = *shell == "bash" ? bashCompletion : *shell == "zsh" ? zshCompletion : fishCompletion;
    writeOut(make(line.pages()));
    return kOk;
  });
}

void addHelp(CommandLine& line) {
  const auto name = std::make_shared<std::string>();
  Command command = line.add("help", "print the help of a command, or the list of commands");
  command.option("COMMAND", *name, "the command; none: xylem itself");
  command.footer(kHelpExamples);
  command.action([&line, name] {
    requireCommand(line.pages(), *name);
    writeOut(line.help(*name));
    return kOk;
  });
}

void addVersion(CommandLine& line) {
  Command command = line.add("version", "print the version");
  command.footer(kVersionExamples);
  command.action([] {
    writeOut("xylem " XYLEM_VERSION "\n");
    return kOk;
  });
}

}  // namespace

void addPages(CommandLine& line) {
  addMan(line);
  addCompletion(line);
  addHelp(line);
  addVersion(line);
}

}  // namespace xylem::cli
