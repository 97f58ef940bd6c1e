#include "cli/version_input.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/error.h"
#include "planner/paths/path_table.h"
#include "planner/rules/changes.h"
#include "planner/rules/patches.h"
#include "planner/rules/variables.h"

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

std::vector<std::string> unknownTo(const rules::Version& version, const Settings& settings) {
  std::vector<std::string> lines;
  const auto add = [&](const char* name, const std::string& origin) {
    if (!rules::knows(version, name))
      lines.push_back(fmt::format("{} ({}) is no variable of NCCL {}: it exists {}", name, origin,
                                  rules::versionText(version), rules::lifeText(name)));
  };
  const auto rules = rules::rulesOf(version);
  for (const SettingSpec& spec : settingSpecs()) {
    if (!settings.isSet(spec.id)) continue;
    add(spec.name, settings.origin(spec.id));
    if (spec.kind == SettingKind::kLevel && !paths::parseLevel(settings.text(spec.id), *rules))
      lines.push_back(fmt::format("{}={} ({}): NCCL {} knows no such level, and ignores it", spec.name,
                                  settings.text(spec.id), settings.origin(spec.id),
                                  rules::versionText(version)));
  }
  for (const Settings::Unread& other : settings.unread()) add(other.variable->name, other.origin);
  return lines;
}

std::shared_ptr<const rules::RuleSet> rulesNamed(const std::string& text, const Settings& settings,
                                                 const char* option) {
  const rules::Version version = versionNamed(text, settings, option);
  auto rules = rules::rulesOf(version);
  if (!rules::isRelease(*rules, version)) {
    const std::string_view difference = rules::differenceFromKnown(version);
    warn(fmt::format("NCCL {} is planned by the rules of {}{}", rules::versionText(version),
                     rules::versionText(rules->version),
                     difference.empty() ? ", the nearest version that Xylem knows"
                                        : fmt::format(". Known of it: {}", difference)));
  }
  for (const std::string& line : unknownTo(version, settings)) warn(line);
  return rules;
}

}  // namespace xylem::cli
