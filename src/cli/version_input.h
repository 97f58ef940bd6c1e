#pragma once
// The version of NCCL that a command plans for.
//
//   addVersionOption(command, options->nccl);                      // --nccl VERSION
//   auto rules = rulesNamed(options->nccl, settings);              // else XYLEM_NCCL, else the default

#include <memory>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "core/settings.h"
#include "planner/rules/changes.h"

namespace xylem::cli {

constexpr const char* kVersionOption = "--nccl";
void addVersionOption(Command& command, std::string& version);

// The version itself. `text` is the value of `option`, empty if it is not given. Throws InputError.
rules::Version versionNamed(const std::string& text, const Settings& settings,
                            const char* option = kVersionOption);

// `text` is the value of `option`, empty if it is not given. Says on standard error if another version answers for this one,
// and in what that one differs, and which variables the version does not know. Throws InputError.
std::shared_ptr<const rules::RuleSet> rulesNamed(const std::string& text, const Settings& settings,
                                                 const char* option = kVersionOption);

}  // namespace xylem::cli
