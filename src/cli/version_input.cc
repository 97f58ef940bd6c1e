#include "cli/version_input.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/error.h"
#include "planner/plan/assumptions.h"
#include "planner/rules/changes.h"

namespace xylem::cli {

void addVersionOption(Command& command, std::string& version) {
  command
      .option(
          kVersionOption, version,
          "the version of NCCL to plan for, such as 2.27.7 (xylem versions lists them; default: XYLEM_NCCL)")
      .value("VERSION");
}

rules::Version versionNamed(const std::string& text, const Settings& settings, const char* option) {
  const std::string& wanted = text.empty() ? settings.text(Setting::kNccl) : text;
  const auto version = rules::parseVersion(wanted);
  if (version) return *version;
  if (text.empty()) rules::rulesOf(settings);  // throws, naming the variable
  throw InputError({option, 0}, "`" + text + "`", "a version of NCCL, such as " + rules::knownVersionsText());
}

std::shared_ptr<const rules::RuleSet> rulesNamed(const std::string& text, const Settings& settings,
                                                 const char* option) {
  const rules::Version version = versionNamed(text, settings, option);
  for (const std::string& line : plan::versionWarnings(version, settings)) warn(line);
  return rules::rulesOf(version);
}

}  // namespace xylem::cli
