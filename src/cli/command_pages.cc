#include "cli/command_pages.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace xylem::cli {
namespace {

// CLI11 gives the value's name and what IsMember allows as `OP:{all_reduce,all_gather}`.
void readType(const std::string& type, OptionPage& page) {
  const std::size_t brace = type.find(":{");
  page.value = type.substr(0, brace);
  while (!page.value.empty() && page.value.back() == ' ') page.value.pop_back();
  if (brace == std::string::npos) return;
  std::istringstream words(type.substr(brace + 2, type.find('}', brace) - brace - 2));
  for (std::string word; std::getline(words, word, ',');) page.choices.push_back(word);
}

OptionPage pageOf(const CLI::Option& option) {
  OptionPage page;
  for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  if (option.get_positional()) page.names = {option.get_name(true)};
  if (option.get_items_expected_max() > 0) readType(option.get_type_name(), page);
  page.description = option.get_description();
  page.required = option.get_required();
  page.repeats = option.get_items_expected_max() > 1;
  return page;
}

CommandPage pageOf(const CLI::App& command, const std::string& name) {
  CommandPage page{name, command.get_description(), {}, {}, command.get_footer()};
  for (const CLI::Option* option : command.get_options())
    (option->get_positional() ? page.positionals : page.options).push_back(pageOf(*option));
  return page;
}

}  // namespace

std::vector<CommandPage> pagesOf(const CLI::App& app) {
  std::vector<CommandPage> pages = {pageOf(app, "")};
  for (const CLI::App* command : app.get_subcommands({}))
    pages.push_back(pageOf(*command, command->get_name()));
  return pages;
}

}  // namespace xylem::cli
