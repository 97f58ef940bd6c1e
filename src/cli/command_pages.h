#pragma once
// What --help knows of every command, as values: manual pages and shell completion are made of them.
//
//   for (const CommandPage& page : line.pages()) write(manPage(pages, page.name, ...));

#include <string>
#include <vector>

namespace xylem::cli {

struct OptionPage {
  std::vector<std::string> names;  // "-p", "--processes"; of a positional its name alone
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

}  // namespace xylem::cli
