// xylem man and xylem completion: what --help says, for man(1) and for shells.
#include "cli/pages.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.h"
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

void addMan(CLI::App& app, Action& action) {
  struct Options {
    std::string command, folder;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("man", "print the manual page of a command, or write all");
  command->add_option("COMMAND", o->command, "the command; none: xylem itself")->type_name("");
  command->add_option("--output", o->folder, "write all pages into DIR/man1 instead")->type_name("DIR");
  command->footer(kManExamples);
  command->callback([&app, &action, o] {
    action = [&app, o] {
      const std::vector<CommandPage> pages = pagesOf(app);
      const auto isIt = [&](const CommandPage& page) { return page.name == o->command; };
      if (std::none_of(pages.begin(), pages.end(), isIt))
        throw InputError({"COMMAND", 0}, "`" + o->command + "`", "a command that `xylem --help` lists");
      if (o->folder.empty())
        writeOut(manPage(pages, o->command, XYLEM_VERSION));
      else
        writePages(pages, o->folder);
      return kOk;
    };
  });
}

void addCompletion(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "print what makes the Tab key complete commands and options");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(kCompletionExamples);
  command->callback([&app, &action, shell] {
    action = [&app, shell] {
      const auto make = *shell == "bash" ? bashCompletion : *shell == "zsh" ? zshCompletion : fishCompletion;
      writeOut(make(pagesOf(app)));
      return kOk;
    };
  });
}

}  // namespace

void addPages(CLI::App& app, Action& action) {
  addMan(app, action);
  addCompletion(app, action);
}

}  // namespace xylem::cli
