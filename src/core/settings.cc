#include "core/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "core/edit_distance.h"
#include "core/error.h"

namespace xylem {
namespace {

using enum SettingKind;
constexpr SettingSpec kSpecs[] = {
#define X(id, name, kind, min, max, fallback, help) {Setting::id, name, kind, min, max, fallback, help},
#include "core/settings_table.h"
#undef X
};

std::optional<std::int64_t> parseInteger(const std::string& text, bool& overflow) {
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 0);
  overflow = errno == ERANGE;
  if (end == text.c_str() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

// NCCL takes these names as levels, and numbers of its old scale.
bool isLevel(const std::string& text) {
  for (const char* level : {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS"})
    if (text == level) return true;
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

bool isOurs(std::string_view name) { return name.starts_with("NCCL_") || name.starts_with("XYLEM_"); }

}  // namespace

std::span<const SettingSpec> settingSpecs() { return kSpecs; }

const SettingSpec& spec(Setting setting) { return kSpecs[static_cast<std::size_t>(setting)]; }

const SettingSpec* findSetting(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kSpecs), std::end(kSpecs), [&](const auto& s) { return s.name == name; });
  return found == std::end(kSpecs) ? nullptr : found;
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
    if (!number) throw InputError({where, 0}, "`" + value + "`", "an integer");
    if (*number < s.minimum || *number > s.maximum)
      throw InputError({where, 0}, value, fmt::format("an integer from {} to {}", s.minimum, s.maximum));
    e.number = *number;
  } else if (s.kind == SettingKind::kLevel && !isLevel(value)) {
    warnings_.push_back(
        fmt::format("{}={} ({}) is not one of LOC NVL NVB PIX PXB PXN PHB SYS: ignored, as NCCL does", s.name,
                    value, origin));
    return;
  }
  entries_[static_cast<std::size_t>(s.id)] = std::move(e);
}

Settings Settings::fromPairs(const std::map<std::string, std::string>& pairs, const std::string& origin) {
  Settings settings;
  for (const auto& [name, value] : pairs) {
    const SettingSpec* s = findSetting(name);
    if (s == nullptr) throw InputError({origin, 0}, "variable " + name, "one that `xylem settings` lists");
    settings.set(*s, value, origin);
  }
  return settings;
}

Settings Settings::fromEnvironment() {
  Settings settings;
  std::vector<std::string_view> unknown;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !isOurs(text.substr(0, equals))) continue;
    if (const SettingSpec* s = findSetting(text.substr(0, equals)))
      settings.set(*s, std::string(text.substr(equals + 1)), "environment");
    else
      unknown.push_back(text.substr(0, equals));
  }
  // After the variables that say whether there are plugins.
  for (const std::string_view name : unknown) settings.noteUnknown(name, "environment");
  if (const char* file = std::getenv("NCCL_CONF_FILE")) {
    if (!settings.readFile(file))
      settings.warnings_.push_back(
          fmt::format("NCCL_CONF_FILE={} (environment) cannot be read: ignored", file));
  } else if (const char* home = std::getenv("HOME")) {
    settings.readFile(std::string(home) + "/.nccl.conf");
  }
  settings.readFile("/etc/nccl.conf");
  return settings;
}

bool Settings::readFile(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) return false;
  addLines(file, path);
  return true;
}

void Settings::addLines(std::istream& lines, const std::string& file) {
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    const std::string origin = fmt::format("{}:{}", file, number);
    const std::string name = line.substr(0, equals);
    const SettingSpec* s = findSetting(name);
    if (s == nullptr) {
      if (isOurs(name)) noteUnknown(name, origin);
    } else if (!entry(s->id).claimed) {
      set(*s, line.substr(equals + 1), origin);
    }
  }
}

bool Settings::namesPlugin() const {
  for (const Setting plugin : {Setting::kNetPlugin, Setting::kTunerPlugin, Setting::kProfilerPlugin})
    if (const std::string& value = text(plugin); !value.empty() && value != "none") return true;
  return false;
}

void Settings::noteUnknown(std::string_view name, const std::string& origin) {
  // These are no rows of the table: fromEnvironment reads the first itself, xylem-cc the next ones, the build
  // and the tests the others.
  for (const char* elsewhere : {"NCCL_CONF_FILE", "XYLEM_CXX", "XYLEM_CC", "XYLEM_QUIET"})
    if (name == elsewhere) return;
  if (name.starts_with("XYLEM_TEST_")) return;
  std::vector<std::string> names;
  for (const SettingSpec& s : settingSpecs()) names.emplace_back(s.name);
  const std::string nearest = nearestWord(name, names);
  // Plugins have variables of their own.
  if (nearest.empty() && name.starts_with("NCCL_") && namesPlugin()) return;
  warnings_.push_back(
      fmt::format("{} ({}) is not a variable that Xylem honours{}", name, origin,
                  nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest)));
}

}  // namespace xylem
