#include "core/settings.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/setting_values.h"

namespace xylem {
namespace {

using enum SettingKind;
constexpr SettingSpec kSpecs[] = {
#define X(id, name, kind, min, max, fallback, help) {Setting::id, name, kind, min, max, fallback, help},
#include "core/settings_table.h"
#undef X
};

constexpr NcclVariable kNcclVariables[] = {
#define X(name, since, until, fallback, decides, help) \
  {name, since, until, fallback, NcclVariable::decides, help},
#include "core/nccl_variables.h"
#undef X
};

// The part of a variable's name behind NCCL_ or XYLEM_, by which names are compared.
std::string_view ownPart(std::string_view name) { return name.substr(name.find('_') + 1); }

std::optional<std::int64_t> parseInteger(const std::string& text, bool& overflow) {
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 0);
  overflow = errno == ERANGE;
  if (end == text.c_str() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

// The error's text for a value that is not an integer: NCCL reads the digits at its start.
std::string integerExpected(std::string_view name, const std::string& value) {
  if (!name.starts_with("NCCL_")) return "an integer";
  return fmt::format("an integer (NCCL reads {} of it without a word)",
                     std::strtoll(value.c_str(), nullptr, 0));
}

// NCCL takes these names as levels, and numbers of its old scale. Versions before 2.26 do not know C2C, those before
// 2.27 not P2C: paths::parseLevel decides for a version.
constexpr const char* kPathLevels[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};

bool isLevel(const std::string& text) {
  for (const char* level : kPathLevels)
    if (text == level) return true;
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

bool isOurs(std::string_view name) { return name.starts_with("NCCL_") || name.starts_with("XYLEM_"); }

// Variables that only plugins read, by the start of their names. Names that start otherwise, as SHARP_COLL_ and OFI_NCCL_ do,
// are not looked at.
struct PluginVariables {
  std::string_view start;
  const char* plugin;
};
constexpr PluginVariables kPluginVariables[] = {
    {"NCCL_IBEXT_", "HPC-X's net plugin (nccl-rdma-sharp)"},
    {"NCCL_SHARP_", "HPC-X's net plugin (nccl-rdma-sharp)"},
    {"NCCL_PLUGIN_P2P", "HPC-X's net plugin (nccl-rdma-sharp)"},
    {"NCCL_UCX_", "HPC-X's net plugin (nccl-rdma-sharp)"},
    {"NCCL_FASTRAK_", "Google's net plugin (FasTrak)"},
    {"NCCL_GPUDIRECTTCPX_", "Google's net plugin (GPUDirect-TCPX)"},
    {"NCCL_TUNER_CONFIG_", "a tuner plugin"},
    {"NCCL_INSPECTOR_", "NCCL's profiler plugin Inspector"},
    {"NCCL_PROFILE_", "NCCL's example of a profiler plugin"},
};

// Null if the name is of no plugin that is known.
const PluginVariables* pluginOf(std::string_view name) {
  for (const PluginVariables& variables : kPluginVariables)
    if (name.starts_with(variables.start)) return &variables;
  return nullptr;
}

}  // namespace

std::span<const SettingSpec> settingSpecs() { return kSpecs; }

const SettingSpec& spec(Setting setting) { return kSpecs[static_cast<std::size_t>(setting)]; }

const SettingSpec* findSetting(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kSpecs), std::end(kSpecs), [&](const auto& s) { return s.name == name; });
  return found == std::end(kSpecs) ? nullptr : found;
}

bool decidesPlans(Setting setting) {
  // The table has the planner's variables first, of which some only write files.
  return setting <= Setting::kNvlsTreeMaxChunkSize && setting != Setting::kTopoDumpFile &&
         setting != Setting::kTopoDumpFileRank && setting != Setting::kGraphDumpFile &&
         setting != Setting::kGraphDumpFileRank;
}

std::span<const NcclVariable> ncclVariables() { return kNcclVariables; }

const NcclVariable* findNcclVariable(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNcclVariables), std::end(kNcclVariables),
                                   [&](const NcclVariable& v) { return v.name == name; });
  return found == std::end(kNcclVariables) ? nullptr : found;
}

namespace {

// The variable of NCCL or Xylem whose name is nearest to `name`; empty if none is near.
std::string nearestVariable(std::string_view name) {
  std::vector<std::string> parts;
  std::vector<const char*> names;
  const auto add = [&](const char* other) {
    parts.emplace_back(ownPart(other));
    names.push_back(other);
  };
  for (const SettingSpec& s : settingSpecs()) add(s.name);
  for (const NcclVariable& variable : ncclVariables()) add(variable.name);
  const std::string nearest = nearestWord(ownPart(name), parts);
  for (std::size_t i = 0; i < parts.size() && !nearest.empty(); ++i)
    if (parts[i] == nearest) return names[i];
  return {};
}

}  // namespace

std::string aboutUnknownVariable(std::string_view name) {
  if (const NcclVariable* known = findNcclVariable(name)) {
    std::string versions;
    if (*known->since != '\0') versions += fmt::format(", since NCCL {}", known->since);
    if (*known->until != '\0') versions += fmt::format(", until NCCL {}", known->until);
    return fmt::format("is NCCL's, {}: {}{}",
                       known->decides == NcclVariable::kPlans
                           ? "whose plans depend on it, and Xylem does not read it"
                           : "and no plan depends on it",
                       known->help, versions);
  }
  if (const PluginVariables* variables = pluginOf(name))
    return fmt::format("is a plugin's: {} reads it, neither NCCL nor Xylem does", variables->plugin);
  const std::string nearest = nearestVariable(name);
  return nearest.empty() ? "is no variable of NCCL or Xylem"
                         : fmt::format("is no variable of NCCL or Xylem; did you mean {}?", nearest);
}

const char* name(SettingKind kind) {
  switch (kind) {
    case kInteger:
      return "integer";
    case kText:
      return "text";
    case kPath:
      return "path";
    case kLevel:
      return "level";
    case kList:
      return "list";
    case kSecret:
      return "secret";
  }
  return "";
}

Settings::Settings() : entries_(settingSpecs().size()) {
  bool overflow = false;
  for (const SettingSpec& s : settingSpecs()) {
    Entry& e = entries_[static_cast<std::size_t>(s.id)];
    e.text = s.fallback;
    if (s.kind == SettingKind::kInteger) e.number = parseInteger(s.fallback, overflow).value();
  }
}

void Settings::set(const SettingSpec& s, const std::string& value, const std::string& origin) {
  // As in NCCL, an empty value does not set the variable, but keeps the configuration files from setting it.
  entries_[static_cast<std::size_t>(s.id)].claimed = true;
  if (value.empty()) return;
  Entry e{true, true, 0, value, origin};
  if (s.kind == SettingKind::kInteger) {
    bool overflow = false;
    const auto number = parseInteger(value, overflow);
    if (overflow) {
      warnings_.push_back(
          fmt::format("{}={} ({}) does not fit in 64 bits: using the default {}, as NCCL does", s.name, value,
                      origin, s.fallback));
      return;
    }
    const std::string where = origin + ": " + s.name;
    if (!number) throw InputError({where, 0}, "`" + value + "`", integerExpected(s.name, value));
    if (*number < s.minimum || *number > s.maximum)
      throw InputError({where, 0}, value, fmt::format("an integer from {} to {}", s.minimum, s.maximum));
    e.number = *number;
  } else if (s.kind == SettingKind::kLevel && !isLevel(value)) {
    return ignore({&s, value, origin,
                   fmt::format("{}={} ({}) is not one of {}: ignored, as NCCL does", s.name, value, origin,
                               fmt::join(kPathLevels, " "))});
  }
  noteOddity(s.name, value, origin);
  entries_[static_cast<std::size_t>(s.id)] = std::move(e);
}

Settings Settings::fromPairs(const std::map<std::string, std::string>& pairs, const std::string& origin) {
  Settings settings;
  for (const auto& [name, value] : pairs) {
    const SettingSpec* s = findSetting(name);
    if (s == nullptr)
      throw InputError({origin, 0}, fmt::format("variable {}, which {}", name, aboutUnknownVariable(name)),
                       "one that `xylem settings` lists");
    settings.set(*s, value, origin);
  }
  return settings;
}

Settings Settings::fromEnvironment() {
  Settings settings;
  settings.readEnvironment();
  if (!settings.refusals_.empty()) throw settings.refusals_.front().error;
  return settings;
}

Settings Settings::fromEnvironmentWithRefusals() {
  Settings settings;
  settings.readEnvironment();
  return settings;
}

void Settings::setOrRefuse(const SettingSpec& s, const std::string& value, const std::string& origin) {
  try {
    set(s, value, origin);
  } catch (const InputError& error) {
    refusals_.push_back({&s, value, origin, error});
  }
}

void Settings::readEnvironment() {
  std::vector<std::pair<std::string_view, std::string>> unknown;  // names and values
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !isOurs(text.substr(0, equals))) continue;
    if (const SettingSpec* s = findSetting(text.substr(0, equals)))
      setOrRefuse(*s, std::string(text.substr(equals + 1)), "environment");
    else
      unknown.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  // After the variables that say whether there are plugins.
  for (const auto& [name, value] : unknown) noteUnknown(name, value, "environment");
  if (const char* file = std::getenv("NCCL_CONF_FILE")) {
    if (!readFile(file))
      ignore({nullptr, file, "environment",
              fmt::format("NCCL_CONF_FILE={} (environment) cannot be read: ignored", file)});
  } else if (const char* home = std::getenv("HOME")) {
    readFile(std::string(home) + "/.nccl.conf");
  }
  readFile("/etc/nccl.conf");
}

void Settings::takeAnswers(const std::function<const char*(const char*)>& answer, const std::string& origin) {
  static const Settings defaults;
  for (const SettingSpec& s : settingSpecs()) {
    if (!std::string_view(s.name).starts_with("NCCL_")) continue;
    Entry& entry = entries_[static_cast<std::size_t>(s.id)];
    const char* const value = answer(s.name);
    if (value != nullptr || entry.origin == "environment") entry = defaults.entry(s.id);
    if (value != nullptr) set(s, value, origin);
  }
}

void Settings::ignore(Ignored ignored) {
  warnings_.push_back(ignored.warning);
  ignored_.push_back(std::move(ignored));
}

bool Settings::readFile(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) return false;
  file.peek();  // a directory can be opened, and not read
  if (file.bad()) return false;
  file.clear();  // an empty file is at its end
  takeLines(file, path);
  return true;
}

void Settings::addLines(std::istream& lines, const std::string& file) {
  takeLines(lines, file);
  if (!refusals_.empty()) throw refusals_.front().error;
}

void Settings::takeLines(std::istream& lines, const std::string& file) {
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#') continue;
    const std::string origin = fmt::format("{}:{}", file, number);
    if (noteStrangeLine(line, origin) || equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    const SettingSpec* s = findSetting(name);
    if (s == nullptr) {
      if (isOurs(name)) noteUnknown(name, line.substr(equals + 1), origin);
    } else if (!entry(s->id).claimed) {
      setOrRefuse(*s, line.substr(equals + 1), origin);
    }
  }
}

bool Settings::namesPlugin() const {
  for (const Setting plugin :
       {Setting::kNetPlugin, Setting::kTunerPlugin, Setting::kProfilerPlugin, Setting::kEnvPlugin})
    if (const std::string& value = text(plugin); !value.empty() && value != "none") return true;
  return false;
}

bool Settings::noteStrangeLine(const std::string& line, const std::string& origin) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string::npos) return false;
  const std::size_t end = line.find_first_of("= \t", start);
  const std::string name = line.substr(start, end == std::string::npos ? end : end - start);
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (!isOurs(upper)) return false;
  std::string oddity;
  if (line.find('=') == std::string::npos)
    oddity = fmt::format("`{}` has no `=`: ignored", line);
  else if (start > 0 || line[end] != '=')
    oddity = fmt::format("`{}` has blanks around the name, which NCCL takes for a part of it: write {}=VALUE",
                         line, upper);
  else if (upper != name)
    oddity = fmt::format("`{}` is ignored: names are in capital letters, {}", name, upper);
  if (oddity.empty()) return false;
  warnings_.push_back(fmt::format("{}: {}", origin, oddity));
  return true;
}

void Settings::noteOddity(std::string_view name, const std::string& value, const std::string& origin) {
  if (const std::string oddity = oddityOf(name, value); !oddity.empty())
    warnings_.push_back(fmt::format("{}={} ({}) {}", name, value, origin, oddity));
}

void Settings::noteUnknown(std::string_view name, const std::string& value, const std::string& origin) {
  // These are no rows of the table: fromEnvironment reads the first itself, xylem-cc the next ones, the build
  // and the tests the others.
  for (const char* elsewhere : {"NCCL_CONF_FILE", "XYLEM_CXX", "XYLEM_CC", "XYLEM_QUIET"})
    if (name == elsewhere) return;
  if (name.starts_with("XYLEM_TEST_")) return;
  const NcclVariable* known = findNcclVariable(name);
  const bool ofPlugin = known == nullptr && pluginOf(name) != nullptr;
  // Plugins have variables of their own: only what looks like a typing error is said.
  if (known == nullptr && !ofPlugin && name.starts_with("NCCL_") && namesPlugin() &&
      nearestVariable(name).empty())
    return;
  if (known != nullptr) {
    unread_.push_back({known, origin});
    noteOddity(name, value, origin);
  }
  const bool matters = !ofPlugin && (known == nullptr || known->decides == NcclVariable::kPlans);
  (matters ? warnings_ : notes_)
      .push_back(fmt::format("{} ({}) {}", name, origin, aboutUnknownVariable(name)));
}

}  // namespace xylem
