#include <algorithm>

#include "core/settings.h"

namespace xylem {
namespace {

using enum SettingKind;
constexpr SettingSpec kSpecs[] = {
#define X(id, name, kind, min, max, fallback, help) {Setting::id, name, kind, min, max, fallback, help},
#include "core/settings_table.h"
#undef X
};

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

}  // namespace xylem
