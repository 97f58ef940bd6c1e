#include <fmt/format.h>

#include "cli/completion.h"

namespace xylem::cli {
namespace {

std::vector<std::string> optionNames(const CommandPage& page) {
  std::vector<std::string> names;
  for (const OptionPage& option : page.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// What may follow an option that takes a value: one of its choices, or what bash does by default, files.
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

}  // namespace xylem::cli
