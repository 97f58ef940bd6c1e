#pragma once
// The version of NCCL that a command plans for.
//
//   addVersionOption(command, options->nccl);                      // --nccl VERSION
//   auto rules = rulesNamed(options->nccl, settings);              // else XYLEM_NCCL, else the default

#include <memory>
#include <string>

#include "cli/command_line.h"
#include "core/settings.h"
#include "planner/rules/changes.h"

namespace xylem::cli {

void addVersionOption(Command& command, std::string& version);

// `text` is the value of --nccl, empty if it is not given. Says on standard error if another version answers for this one,
// and in what that one differs. Throws InputError.
std::shared_ptr<const rules::RuleSet> rulesNamed(const std::string& text, const Settings& settings);

}  // namespace xylem::cli
