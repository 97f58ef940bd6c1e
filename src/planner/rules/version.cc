#include "planner/rules/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace xylem::rules {

std::string versionText(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string unnamedVersionText() { return versionText(kOldestVersion); }

std::optional<Version> parseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::array<int, 3> parts{};
  std::size_t count = 0;
  while (true) {
    constexpr int kMaxPart = 9999;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > kMaxPart || count == parts.size()) return std::nullopt;
    parts[count++] = number;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (count < 2) return std::nullopt;
  Version version{parts[0], parts[1], parts[2]};
  if (count == 2) {
    const Version known = nearestKnown(version);
    if (known.major == version.major && known.minor == version.minor) version = known;
  }
  return version;
}

Version nearestKnown(const Version& version) {
  Version nearest = kOldestVersion;
  for (const Version& known : kKnownVersions)
    if (known <= version || (known.major == version.major && known.minor == version.minor)) nearest = known;
  return nearest;
}

std::string knownVersionsText() {
  std::string list;
  for (const Version& known : kKnownVersions) list += (list.empty() ? "" : ", ") + versionText(known);
  return list;
}

}  // namespace xylem::rules
