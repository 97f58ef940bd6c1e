#include "cli/version_input.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/error.h"
#include "planner/plan/planner.h"
#include "planner/rules/patches.h"

namespace xylem::cli {

void addVersionOption(Command& command, std::string& version) {
  command
      .option(
          "--nccl", version,
          "the version of NCCL to plan for, such as 2.27.7 (xylem versions lists them; default: XYLEM_NCCL)")
      .value("VERSION");
}

std::shared_ptr<const rules::RuleSet> rulesNamed(const std::string& text, const Settings& settings) {
  const std::string& wanted = text.empty() ? settings.text(Setting::kNccl) : text;
  const auto version = rules::parseVersion(wanted);
  if (!version && text.empty()) return plan::rulesFor(settings);  // throws, naming the variable
  if (!version)
    throw InputError({"--nccl", 0}, "`" + text + "`",
                     "a version of NCCL, such as " + rules::knownVersionsText());
  auto rules = rules::rulesOf(*version);
  if (!rules::isRelease(*rules, *version)) {
    const std::string_view difference = rules::differenceFromKnown(*version);
    warn(fmt::format("NCCL {} is planned by the rules of {}{}", rules::versionText(*version),
                     rules::versionText(rules->version),
                     difference.empty() ? ", the nearest version that Xylem knows"
                                        : fmt::format(". Known of it: {}", difference)));
  }
  return rules;
}

}  // namespace xylem::cli
