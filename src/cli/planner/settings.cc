// xylem settings: every variable with its range, default, meaning and value here.
#include "core/settings.h"

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

struct SettingsArguments {
  bool json = false;
  bool setOnly = false;
};

constexpr const char* kSettingsExamples = R"(Examples:
  xylem settings                  every NCCL_* and XYLEM_* variable that Xylem honours
  xylem settings --set-only       those that are set here, and by whom
  xylem settings --json | jq '.settings[] | select(.set) | {name, value, origin}'

Variables come from the environment, then from $NCCL_CONF_FILE or ~/.nccl.conf, then from /etc/nccl.conf; what is
set first counts.)";

bool isInteger(const SettingSpec& spec) { return spec.kind == SettingKind::kInteger; }

std::string rangeText(const SettingSpec& spec) {
  return isInteger(spec) ? fmt::format("{}..{}", spec.minimum, spec.maximum) : "";
}

std::string valueText(const Settings& settings, const SettingSpec& spec) {
  if (isInteger(spec)) return std::to_string(settings.integer(spec.id));
  return spec.kind == SettingKind::kSecret && settings.isSet(spec.id) ? "(hidden)" : settings.text(spec.id);
}

nlohmann::ordered_json toJson(const Settings& settings, bool setOnly) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SettingSpec& spec : settingSpecs()) {
    const bool set = settings.isSet(spec.id);
    if (setOnly && !set) continue;
    nlohmann::ordered_json row = {{"name", spec.name}, {"type", name(spec.kind)}};
    if (isInteger(spec)) {
      row["minimum"] = spec.minimum;
      row["maximum"] = spec.maximum;
      row["default"] = Settings().integer(spec.id);
      row["value"] = settings.integer(spec.id);
    } else {
      row["default"] = spec.fallback;
      row["value"] = valueText(settings, spec);
    }
    row["decidesPlans"] = decidesPlans(spec.id);
    row["set"] = set;
    if (set) row["origin"] = settings.origin(spec.id);
    row["help"] = spec.help;
    list.push_back(std::move(row));
  }
  nlohmann::ordered_json others = nlohmann::ordered_json::array();
  for (const NcclVariable& variable : ncclVariables()) {
    if (findSetting(variable.name) != nullptr) continue;
    others.push_back({{"name", variable.name},
                      {"since", variable.since},
                      {"until", variable.until},
                      {"default", variable.fallback},
                      {"decidesPlans", variable.decides == NcclVariable::kPlans},
                      {"help", variable.help}});
  }
  return {{"settings", std::move(list)},
          {"ncclOnly", std::move(others)},
          {"warnings", settings.warnings()},
          {"notes", settings.notes()}};
}

std::string tableText(const Settings& settings, bool setOnly, const Terminal& screen) {
  Table table(
      {{"variable"}, {"type"}, {"range"}, {"default"}, {"value"}, {"set in"}, {"plans"}, {"meaning"}});
  for (const SettingSpec& spec : settingSpecs()) {
    const bool set = settings.isSet(spec.id);
    if (setOnly && !set) continue;
    table.add({{spec.name, set ? Style::kBold : Style::kPlain},
               {name(spec.kind), Style::kDim},
               {rangeText(spec), Style::kDim},
               {*spec.fallback == '\0' ? "-" : spec.fallback},
               {set ? valueText(settings, spec) : "", Style::kGreen},
               {settings.origin(spec.id)},
               {decidesPlans(spec.id) ? "yes" : "no", Style::kDim},
               {spec.help}});
  }
  if (table.empty()) return "No variable is set: everything has its default (see `xylem settings`).\n";
  return table.text(screen);
}

// NCCL's variables that Xylem does not read.
std::string ncclText(const Terminal& screen) {
  Table table({{"variable"}, {"since"}, {"until"}, {"default"}, {"plans"}, {"meaning"}});
  for (const NcclVariable& variable : ncclVariables()) {
    if (findSetting(variable.name) != nullptr) continue;
    table.add({{variable.name},
               {variable.since},
               {variable.until},
               {*variable.fallback == '\0' ? "-" : variable.fallback},
               {variable.decides == NcclVariable::kPlans ? "yes" : "no", Style::kDim},
               {variable.help}});
  }
  return screen.heading(
             "NCCL's variables that Xylem knows and does not read; `plans`: NCCL's plan depends on it") +
         table.text(screen) + '\n';
}

int runSettings(const SettingsArguments& options) {
  const Settings settings = Settings::fromEnvironment();
  if (options.json) {
    writeJson(toJson(settings, options.setOnly), 2);
    return kOk;
  }
  writeOut(tableText(settings, options.setOnly, terminalOf(stdout)));
  if (!options.setOnly) writeOut(ncclText(terminalOf(stdout)));
  for (const std::string& note : settings.notes()) writeOut(note + '\n');
  std::fflush(stdout);  // so that the table comes before the warnings if both go to one file
  for (const std::string& warning : settings.warnings()) warn(warning);
  return kOk;
}

}  // namespace

void addSettings(CommandLine& line) {
  const auto options = std::make_shared<SettingsArguments>();
  Command command = line.add("settings", "list the environment variables that Xylem honours");
  command.flag("--json", options->json, "print JSON");
  command.flag("--set-only", options->setOnly, "only the variables that are set");
  command.footer(kSettingsExamples);
  command.action([options] { return runSettings(*options); });
}

}  // namespace xylem::cli
