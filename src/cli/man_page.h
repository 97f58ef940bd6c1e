#pragma once
// A manual page in roff, as man(1) reads it, of what --help says.
//
//   writeOut(manPage(pages, "perf", "0.1.0"));

#include <string>
#include <vector>

#include "cli/command_pages.h"

namespace xylem::cli {

// Of the command called `name`, or of `xylem` itself if that is empty. There has to be one.
std::string manPage(const std::vector<CommandPage>& pages, const std::string& name,
                    const std::string& version);
// "xylem-perf"
std::string manPageName(const std::string& command);

}  // namespace xylem::cli
