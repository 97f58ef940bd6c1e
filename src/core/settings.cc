#include "core/settings.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "core/error.h"

namespace xylem {
namespace {

std::optional<std::int64_t> parseInteger(const std::string& text, bool& overflow) {
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 0);
  overflow = errno == ERANGE;
  if (end == text.c_str() || *end != '\0') return std::nullopt;
  return value;
}

// NCCL takes these as levels; a leading digit is its old scale.
bool isLevel(const std::string& text) {
  for (const char* level : {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS"})
    if (text == level) return true;
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

bool isOurs(std::string_view name) { return name.starts_with("NCCL_") || name.starts_with("XYLEM_"); }

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

Settings::Settings() : entries_(settingSpecs().size()) {
  bool overflow = false;
  for (const SettingSpec& s : settingSpecs()) {
    Entry& e = entries_[static_cast<std::size_t>(s.id)];
    e.text = s.fallback;
    if (s.kind == SettingKind::kInteger) e.number = parseInteger(s.fallback, overflow).value();
  }
}

void Settings::set(const SettingSpec& s, const std::string& value, const std::string& origin) {
  if (value.empty()) return;  // as in NCCL: an empty value is no value
  Entry e{true, 0, value, origin};
  if (s.kind == SettingKind::kInteger) {
    bool overflow = false;
    const auto number = parseInteger(value, overflow);
    if (overflow) {
      warnings_.push_back(fmt::format("{}={} ({}) does not fit in 64 bits: using the default {}, as NCCL does", s.name,
                                      value, origin, s.fallback));
      return;
    }
    const std::string where = origin + ": " + s.name;
    if (!number) throw InputError({where, 0}, "`" + value + "`", "an integer");
    if (*number < s.minimum || *number > s.maximum)
      throw InputError({where, 0}, value, fmt::format("an integer from {} to {}", s.minimum, s.maximum));
    e.number = *number;
  } else if (s.kind == SettingKind::kLevel && !isLevel(value)) {
    warnings_.push_back(
        fmt::format("{}={} ({}) is not one of LOC NVL NVB PIX PXB PXN PHB SYS: ignored, as NCCL does", s.name, value,
                    origin));
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
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !isOurs(text.substr(0, equals))) continue;
    if (const SettingSpec* s = findSetting(text.substr(0, equals)))
      settings.set(*s, std::string(text.substr(equals + 1)), "environment");
    else
      settings.noteUnknown(text.substr(0, equals), "environment");
  }
  if (const char* file = std::getenv("NCCL_CONF_FILE")) {
    settings.readFile(file);
  } else if (const char* home = std::getenv("HOME")) {
    settings.readFile(std::string(home) + "/.nccl.conf");
  }
  settings.readFile("/etc/nccl.conf");
  return settings;
}

void Settings::readFile(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    const std::string origin = fmt::format("{}:{}", path, number);
    const std::string name = line.substr(0, equals);
    const SettingSpec* s = findSetting(name);
    if (s == nullptr) {
      if (isOurs(name)) noteUnknown(name, origin);
    } else if (!isSet(s->id)) {
      set(*s, line.substr(equals + 1), origin);
    }
  }
}

void Settings::noteUnknown(std::string_view name, const std::string& origin) {
  // Read by fromEnvironment itself, or by the build and the tests: not rows of the table.
  if (name == "NCCL_CONF_FILE" || name.starts_with("XYLEM_TEST_")) return;
  const SettingSpec* nearest = nullptr;
  std::size_t best = 4;  // farther than three edits is another word
  for (const SettingSpec& s : settingSpecs()) {
    const std::size_t distance = editDistance(name, s.name);
    if (distance < best) best = distance, nearest = &s;
  }
  warnings_.push_back(fmt::format("{} ({}) is not a variable that Xylem honours{}", name, origin,
                                  nearest ? fmt::format("; did you mean {}?", nearest->name) : std::string()));
}

}  // namespace xylem
