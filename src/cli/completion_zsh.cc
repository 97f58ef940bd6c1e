#include <fmt/format.h>

#include "cli/completion.h"

namespace xylem::cli {
namespace {

// Inside of single quotes, with `special` escaped for zsh's own readers of such texts.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += R"('\'')";
    else if (special.find(c) != std::string_view::npos)
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

// `:SECONDS:` what comes after an option or as an argument.
std::string valueOf(const std::string& name, const OptionPage& option) {
  const std::string message = quoted(name, ":");
  if (!option.choices.empty()) return fmt::format(":{}:({})", message, fmt::join(option.choices, " "));
  return fmt::format(":{}:_files", message);
}

std::string optionLines(const OptionPage& option) {
  const bool isFlag = option.value.empty() && option.choices.empty();
  std::string text;
  for (const std::string& name : option.names)
    text += fmt::format("        '*{}[{}]{}' \\\n", name, quoted(option.description, "[]\\"),
                        isFlag ? "" : valueOf(option.value, option));
  return text;
}

std::string commandCase(const CommandPage& page) {
  std::string text = fmt::format("    {})\n      _arguments -s \\\n", page.name);
  for (const OptionPage& option : page.options) text += optionLines(option);
  for (const OptionPage& positional : page.positionals)
    text += fmt::format("        '{}{}' \\\n", positional.repeats ? "*" : "",
                        valueOf(positional.names.front(), positional));
  if (page.name == "run") text += "        '*::program:_normal' \\\n";
  return text + "        && return ;;\n";
}

}  // namespace

std::string zshCompletion(const std::vector<CommandPage>& pages) {
  std::string commands, cases;
  for (const CommandPage& page : pages) {
    if (page.name.empty()) continue;
    commands += fmt::format("    '{}:{}'\n", page.name, quoted(page.summary, ":\\"));
    cases += commandCase(page);
  }
  return fmt::format(R"(#compdef xylem
# What the Tab key does after xylem, in zsh.
_xylem() {{
  local -a commands=(
{})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _xylem "$@"
else
  compdef _xylem xylem
fi
)",
                     commands, cases);
}

}  // namespace xylem::cli
