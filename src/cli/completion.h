#pragma once
// What the Tab key does after `xylem`, as a script of each shell.
//
//   eval "$(xylem completion bash)"

#include <string>
#include <vector>

#include "cli/command_pages.h"

namespace xylem::cli {

std::string bashCompletion(const std::vector<CommandPage>& pages);
std::string zshCompletion(const std::vector<CommandPage>& pages);
std::string fishCompletion(const std::vector<CommandPage>& pages);

}  // namespace xylem::cli
