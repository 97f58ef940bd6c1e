// xylem settings: every variable with its range, default, meaning and value here.
#include "core/settings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/table.h"
#include "cli/version_input.h"
#include "core/error.h"
#include "core/interface_list.h"
#include "planner/plan/assumptions.h"
#include "planner/rules/variables.h"
#include "planner/topology/detect_rdma.h"
#include "planner/tuning/tuning_options.h"

namespace xylem::cli {
namespace {

struct SettingsArguments {
  std::string nccl;  // the version to list for; empty: variables of all versions
  bool json = false;
  bool setOnly = false;
};

constexpr const char* kSettingsExamples = R"(Examples:
  xylem settings                  every NCCL_* and XYLEM_* variable that Xylem honours
  xylem settings --nccl 2.27.7    those that this version of NCCL knows, with its defaults
  xylem settings --set-only       those that are set here, and by whom
  xylem settings --json | jq '.settings[] | select(.set or .refused or .ignored)'

Variables come from the environment, then from $NCCL_CONF_FILE or ~/.nccl.conf, then from /etc/nccl.conf; what is
set first counts. A value that cannot be used, or a file that cannot be read, is named after the table; the exit status is 2
then.)";

bool isInteger(const SettingSpec& spec) { return spec.kind == SettingKind::kInteger; }

std::int64_t integerOf(const SettingSpec& spec, const std::string& text) {
  Settings settings;
  settings.set(spec, text, "");
  return settings.integer(spec.id);
}

std::string rangeText(const SettingSpec& spec) {
  return isInteger(spec) ? fmt::format("{}..{}", spec.minimum, spec.maximum) : "";
}

// The choice of rows and defaults: a version of NCCL, and whether only its variables are listed.
struct Listed {
  rules::Version version;
  bool ofVersion = false;
  bool setOnly = false;

  bool has(const char* name) const { return !ofVersion || rules::knows(version, name); }
  std::string fallback(const char* name, const char* usual) const {
    return std::string(rules::defaultIn(version, name, usual));
  }
};

std::string valueText(const Settings& settings, const SettingSpec& spec, const Listed& listed) {
  if (!settings.isSet(spec.id)) return listed.fallback(spec.name, spec.fallback);
  if (isInteger(spec)) return std::to_string(settings.integer(spec.id));
  return spec.kind == SettingKind::kSecret && settings.isSet(spec.id) ? "(hidden)" : settings.text(spec.id);
}

// The reason why planning would refuse these variables; empty if it would not.
std::string refusalOf(const Settings& settings) {
  try {
    tuning::TuningOptions::from(settings);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

// Why something cannot be used: values that commands would refuse, of single variables, then of several together; files; values that NCCL ignores.
std::vector<std::string> refusalsIn(const Settings& settings) {
  std::vector<std::string> lines;
  for (const Settings::Refusal& refusal : settings.refusals()) lines.push_back(refusal.error.what());
  const std::size_t before = lines.size();
  for (const SettingSpec& spec : settingSpecs()) {
    if (!settings.isSet(spec.id)) continue;
    Settings alone;
    alone.set(spec, settings.text(spec.id), settings.origin(spec.id));
    if (std::string refusal = refusalOf(alone); !refusal.empty()) lines.push_back(std::move(refusal));
  }
  if (lines.size() == before)
    if (std::string refusal = refusalOf(settings); !refusal.empty()) lines.push_back(std::move(refusal));
  for (const Setting input : {Setting::kTopoFile, Setting::kGraphFile})
    if (settings.isSet(input)) {
      const std::string& file = settings.text(input);
      int reason = access(file.c_str(), R_OK) == 0 ? 0 : errno;
      std::error_code error;
      if (std::filesystem::is_directory(file, error)) reason = EISDIR;
      if (reason != 0)
        lines.push_back(fmt::format("{} ({}): cannot read {}: {}", spec(input).name, settings.origin(input),
                                    file, errnoText(reason)));
    }
  for (const Settings::Ignored& ignored : settings.ignored()) lines.push_back(ignored.warning);
  return lines;
}

// Files that a variable says to write and that cannot be written.
std::vector<std::string> unwritableIn(const Settings& settings) {
  std::vector<std::string> lines;
  for (const Setting output : {Setting::kTopoDumpFile, Setting::kGraphDumpFile}) {
    if (!settings.isSet(output)) continue;
    const std::filesystem::path path(settings.text(output));
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const std::filesystem::path& asked = access(path.c_str(), F_OK) == 0 ? path : folder;
    if (access(asked.c_str(), W_OK) != 0)
      lines.push_back(fmt::format("{} ({}): {} cannot be written: {}", spec(output).name,
                                  settings.origin(output), path.string(), errnoText(errno)));
  }
  return lines;
}

// A network device of this machine, and whether a list selects it.
struct Selectable {
  std::string name;
  bool selected = false;
};

// A warning about a list that selects no device; empty if it is not set or selects any.
std::string aboutEmptyList(const Settings& settings, Setting list, const char* kind,
                           const std::vector<Selectable>& devices) {
  std::vector<std::string> names;
  for (const Selectable& device : devices) {
    if (device.selected) return "";
    names.push_back(device.name);
  }
  if (!settings.isSet(list)) return "";
  return topology::selectsNone(
      fmt::format("{}={} ({})", spec(list).name, settings.text(list), settings.origin(list)), kind, names);
}

// Lists of network devices that select none of this machine's.
std::vector<std::string> emptyListsIn(const Settings& settings) {
  std::vector<Selectable> interfaces, ports;
  for (const topology::NetInterface& found : topology::readInterfaces("/"))
    interfaces.push_back({found.name, interfaceMatches(settings.text(Setting::kSocketIfname), found.name)});
  // Ports may be counted by card: detection says whether it finds any.
  topology::RdmaOptions options;
  const std::vector<topology::NetDevice> all = topology::rdmaDevices("/", options);
  options.hca = settings.text(Setting::kIbHca);
  const bool finds = !topology::rdmaDevices("/", options).empty();
  for (const topology::NetDevice& port : all) ports.push_back({port.name, finds});
  std::vector<std::string> lines;
  for (const std::string& line : {aboutEmptyList(settings, Setting::kSocketIfname, "interface", interfaces),
                                  aboutEmptyList(settings, Setting::kIbHca, "RDMA device", ports)})
    if (!line.empty()) lines.push_back(line);
  return lines;
}

// A value that is not used.
struct Unused {
  std::string value, origin;
  const char* how;
};

std::optional<Unused> unusedOf(const Settings& settings, const SettingSpec& spec) {
  for (const Settings::Refusal& refusal : settings.refusals())
    if (refusal.spec == &spec) return Unused{refusal.value, refusal.origin, "refused"};
  for (const Settings::Ignored& ignored : settings.ignored())
    if (ignored.spec == &spec) return Unused{ignored.value, ignored.origin, "ignored"};
  return std::nullopt;
}

// Remarks on what is set, and the values that cannot be used.
struct Findings {
  std::vector<std::string> warnings;
  std::vector<std::string> refusals;
};

void addFindings(const Settings& settings, const rules::Version& version, Findings& findings) {
  findings.warnings = settings.warnings();
  for (const Settings::Ignored& ignored : settings.ignored()) std::erase(findings.warnings, ignored.warning);
  for (std::string& line : plan::unknownTo(version, settings)) findings.warnings.push_back(std::move(line));
  for (std::string& line : unwritableIn(settings)) findings.warnings.push_back(std::move(line));
  for (std::string& line : emptyListsIn(settings)) findings.warnings.push_back(std::move(line));
  for (std::string& line : refusalsIn(settings)) findings.refusals.push_back(std::move(line));
}

nlohmann::ordered_json toJson(const Settings& settings, const Listed& listed, const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SettingSpec& spec : settingSpecs()) {
    const bool set = settings.isSet(spec.id);
    const std::optional<Unused> unused = unusedOf(settings, spec);
    if ((listed.setOnly && !set && !unused) || !listed.has(spec.name)) continue;
    nlohmann::ordered_json row = {{"name", spec.name}, {"type", name(spec.kind)}};
    if (isInteger(spec)) {
      row["minimum"] = spec.minimum;
      row["maximum"] = spec.maximum;
      row["default"] = integerOf(spec, listed.fallback(spec.name, spec.fallback));
      row["value"] = integerOf(spec, valueText(settings, spec, listed));
    } else {
      row["default"] = listed.fallback(spec.name, spec.fallback);
      row["value"] = valueText(settings, spec, listed);
    }
    row["decidesPlans"] = decidesPlans(spec.id);
    row["set"] = set;
    if (set) row["origin"] = settings.origin(spec.id);
    if (unused) row[unused->how] = {{"value", unused->value}, {"origin", unused->origin}};
    row["help"] = spec.help;
    list.push_back(std::move(row));
  }
  nlohmann::ordered_json others = nlohmann::ordered_json::array();
  for (const NcclVariable& variable : ncclVariables()) {
    if (!listed.has(variable.name)) continue;
    others.push_back({{"name", variable.name},
                      {"since", variable.since},
                      {"until", variable.until},
                      {"default", listed.fallback(variable.name, variable.fallback)},
                      {"decidesPlans", variable.decides == NcclVariable::kPlans},
                      {"help", variable.help}});
  }
  return {{"format", "xylem-settings-1"},  {"nccl", rules::versionText(listed.version)},
          {"settings", std::move(list)},   {"ncclOnly", std::move(others)},
          {"warnings", findings.warnings}, {"refusals", findings.refusals},
          {"notes", settings.notes()}};
}

std::string unusedText(const SettingSpec& spec, const Unused& unused) {
  return fmt::format("{} ({})", spec.kind == SettingKind::kSecret ? "(hidden)" : unused.value, unused.how);
}

std::string tableText(const Settings& settings, const Listed& listed, const Terminal& screen) {
  Table table(
      {{"variable"}, {"type"}, {"range"}, {"default"}, {"value"}, {"set in"}, {"plans"}, {"meaning"}});
  for (const SettingSpec& spec : settingSpecs()) {
    const bool set = settings.isSet(spec.id);
    const std::optional<Unused> unused = unusedOf(settings, spec);
    if ((listed.setOnly && !set && !unused) || !listed.has(spec.name)) continue;
    const std::string fallback = listed.fallback(spec.name, spec.fallback);
    table.add({{spec.name, set ? Style::kBold : Style::kPlain},
               {name(spec.kind), Style::kDim},
               {rangeText(spec), Style::kDim},
               {fallback.empty() ? "-" : fallback},
               unused ? Cell{unusedText(spec, *unused), Style::kRed}
                      : Cell{set ? valueText(settings, spec, listed) : "", Style::kGreen},
               {unused ? unused->origin : settings.origin(spec.id)},
               {decidesPlans(spec.id) ? "yes" : "no", Style::kDim},
               {spec.help}});
  }
  if (table.empty())
    return fmt::format("No variable {}is set: everything has its default (see `xylem settings`).\n",
                       settings.notes().empty() && settings.warnings().empty() ? "" : "that Xylem reads ");
  return table.text(screen);
}

// NCCL's variables that Xylem does not read.
std::string ncclText(const Listed& listed, const Terminal& screen) {
  Table table({{"variable"}, {"since"}, {"until"}, {"default"}, {"plans"}, {"meaning"}});
  for (const NcclVariable& variable : ncclVariables()) {
    if (!listed.has(variable.name)) continue;
    const std::string fallback = listed.fallback(variable.name, variable.fallback);
    table.add({{variable.name},
               {variable.since},
               {variable.until},
               {fallback.empty() ? "-" : fallback},
               {variable.decides == NcclVariable::kPlans ? "yes" : "no", Style::kDim},
               {variable.help}});
  }
  return screen.heading(
             "NCCL's variables that Xylem knows and does not read; `plans`: NCCL's plan depends on it") +
         table.text(screen) + '\n';
}

// The version to list for. One that XYLEM_NCCL does not name properly becomes a finding, as other bad values do.
rules::Version listedVersion(const std::string& wanted, const Settings& settings, Findings& findings) {
  try {
    return versionNamed(wanted, settings);
  } catch (const InputError& error) {
    if (!wanted.empty()) throw;
    findings.refusals.emplace_back(error.what());
    return versionNamed("", Settings());
  }
}

int runSettings(const SettingsArguments& options) {
  const Settings settings = Settings::fromEnvironmentWithRefusals();
  Findings findings;
  const Listed listed{listedVersion(options.nccl, settings, findings), !options.nccl.empty(),
                      options.setOnly};
  addFindings(settings, listed.version, findings);
  const int status = findings.refusals.empty() ? kOk : kBadInput;
  if (options.json) {
    writeJson(toJson(settings, listed, findings), 2);
    return status;
  }
  writeOut(tableText(settings, listed, terminalOf(stdout)));
  if (!options.setOnly) writeOut(ncclText(listed, terminalOf(stdout)));
  for (const std::string& note : settings.notes()) writeOut(note + '\n');
  std::fflush(stdout);  // so that the table comes before the warnings if both go to one file
  for (const std::string& warning : findings.warnings) warn(warning);
  for (const std::string& refusal : findings.refusals) warn(refusal);
  return status;
}

}  // namespace

void addSettings(CommandLine& line) {
  const auto options = std::make_shared<SettingsArguments>();
  Command command = line.add("settings", "list the environment variables that Xylem honours");
  addVersionOption(command, options->nccl);
  command.flag("--json", options->json, "print JSON");
  command.flag("--set-only", options->setOnly, "only the variables that are set");
  command.footer(kSettingsExamples);
  command.action([options] { return runSettings(*options); });
}

}  // namespace xylem::cli
