#include <fmt/format.h>

#include "cli/completion.h"

namespace xylem::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string optionLine(const std::string& command, const OptionPage& option) {
  std::string line = fmt::format("complete -c xylem -n '__fish_seen_subcommand_from {}'", command);
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.choices.empty())
    line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  else if (!option.value.empty())
    line += " -r";
  return line + " -d " + quoted(option.description) + "\n";
}

std::string commandLines(const CommandPage& page) {
  std::string text = fmt::format("complete -c xylem -n __fish_use_subcommand -a {} -d {}\n", page.name,
                                 quoted(page.summary));
  bool hasFiles = page.name == "run";
  for (const OptionPage& option : page.options) text += optionLine(page.name, option);
  for (const OptionPage& positional : page.positionals) {
    if (positional.choices.empty())
      hasFiles = true;
    else
      text += fmt::format("complete -c xylem -n '__fish_seen_subcommand_from {}' -a '{}'\n", page.name,
                          fmt::join(positional.choices, " "));
  }
  if (hasFiles) text += fmt::format("complete -c xylem -n '__fish_seen_subcommand_from {}' -F\n", page.name);
  return text;
}

}  // namespace

std::string fishCompletion(const std::vector<CommandPage>& pages) {
  std::string text = "# What the Tab key does after xylem, in fish.\ncomplete -c xylem -f\n";
  for (const CommandPage& page : pages)
    if (!page.name.empty()) text += commandLines(page);
  return text;
}

}  // namespace xylem::cli
