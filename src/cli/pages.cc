// xylem man and xylem completion: what --help says, for man(1) and for shells.
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/terminal.h"
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
    const auto isIt = [&](const CommandPage& page) { return page.name == o->command; };
    if (std::none_of(pages.begin(), pages.end(), isIt))
      throw InputError({"COMMAND", 0}, "`" + o->command + "`", "a command that `xylem --help` lists");
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
  command.option("SHELL", *shell, "bash, zsh or fish")
      .required()
      .oneOf({"bash", "zsh", "fish"});
  command.footer(kCompletionExamples);
  command.action([&line, shell] {
    const auto make = *shell == "bash" ? bashCompletion : *shell == "zsh" ? zshCompletion : fishCompletion;
    writeOut(make(line.pages()));
    return kOk;
  });
}

}  // namespace

void addPages(CommandLine& line) {
  addMan(line);
  addCompletion(line);
}

}  // namespace xylem::cli
