// Shell completion: one script each for bash, zsh and fish, with the options and their values spelled out in
// it.
#include <fmt/format.h>

#include "cli/pages.h"

namespace xylem::cli {
namespace {

std::vector<std::string> optionNames(const CommandPage& page) {
  std::vector<std::string> names;
  for (const OptionPage& option : page.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The words that may follow each option that takes a value: its choices. Where there are none, bash offers
// files.
std::string values(const CommandPage& page) {
  std::string text;
  for (const OptionPage& option : page.options) {
    if (option.value.empty() && option.choices.empty()) continue;
    std::string pattern;
    for (const std::string& name : option.names)
      pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : " | ", page.name, name);
    text += fmt::format("    {}) words='{}' ;;\n", pattern, fmt::join(option.choices, " "));
  }
  return text;
}

std::string ownWords(const CommandPage& page) {
  std::string text =
      fmt::format("    {}' '-*) words='{}' ;;\n", page.name, fmt::join(optionNames(page), " "));
  for (const OptionPage& positional : page.positionals)
    if (!positional.choices.empty())
      text += fmt::format("    {}' '*) words='{}' ;;\n", page.name, fmt::join(positional.choices, " "));
  return text;
}

}  // namespace

// One function that looks at the command and the word before the cursor. The first `case` is for values of
// options, the second for options and positional arguments.
std::string bashCompletion(const std::vector<CommandPage>& pages) {
  std::string commands, valueCases, wordCases;
  for (const CommandPage& page : pages) {
    if (page.name.empty()) continue;
    commands += page.name + " ";
    valueCases += values(page);
    wordCases += ownWords(page);
  }
  return fmt::format(R"(# What the Tab key does after xylem, in bash.
_xylem() {{
  local command=${{COMP_WORDS[1]}} current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='{}{}'
  else case "$command $previous" in
{}    *) case "$command $current" in
{}    esac ;;
  esac; fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
# Where there are no words of ours, files.
complete -o default -F _xylem xylem
)",
                     commands, fmt::join(optionNames(pages.front()), " "), valueCases, wordCases);
}

namespace {

// For single quotes, with the characters `special` escaped for zsh's _arguments and _describe.
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

// The argument of an option or of the command, as _arguments reads it: `:NAME:(CHOICES)` or `:NAME:_files`.
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
