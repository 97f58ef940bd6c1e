#pragma once
// The text of --help as values, and the manual pages and scripts for shell completion that are made of them.
//
//   const std::vector<CommandPage> pages = line.pages();
//   writeOut(manPage(pages, "perf", "0.1.0"));
//   writeOut(bashCompletion(pages));

#include <string>
#include <vector>

namespace xylem::cli {

struct OptionPage {
  std::vector<std::string> names;  // "-p", "--processes"; a positional argument has one name without hyphens
  std::string value;               // "SECONDS"; empty for a flag
  std::vector<std::string> choices;
  std::string description;
  bool required = false;
  bool repeats = false;
};

struct CommandPage {
  std::string name;  // "perf"; empty for `xylem` itself
  std::string summary;
  std::vector<OptionPage> positionals, options;
  std::string footer;  // examples and remarks
};

// The page of the command called `name`, which must be one of `pages`, in roff as man(1) reads it. An empty
// name stands for `xylem` itself.
std::string manPage(const std::vector<CommandPage>& pages, const std::string& name,
                    const std::string& version);
// "xylem-perf", or "xylem" for an empty name.
std::string manPageName(const std::string& command);

// Scripts that make the Tab key complete commands, options and their values after `xylem`.
std::string bashCompletion(const std::vector<CommandPage>& pages);
std::string zshCompletion(const std::vector<CommandPage>& pages);
std::string fishCompletion(const std::vector<CommandPage>& pages);

}  // namespace xylem::cli
