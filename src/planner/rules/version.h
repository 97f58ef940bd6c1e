#pragma once
// A version of NCCL, and the versions whose rules Xylem knows.
//
//   Version v = parseVersion("2.27.7").value();
//   v < kNewestVersion      ->   true
//   nearestKnown(parseVersion("2.28.3").value())   ->   2.28.9

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace xylem::rules {

struct Version {
  int major = 2;
  int minor = 25;
  int patch = 1;

  constexpr auto operator<=>(const Version&) const = default;
};

// The versions with a rule set of their own, oldest first.
constexpr std::array<Version, 6> kKnownVersions = {
    {{2, 25, 1}, {2, 26, 2}, {2, 27, 7}, {2, 28, 9}, {2, 29, 7}, {2, 30, 7}}};
constexpr Version kOldestVersion = kKnownVersions.front();
constexpr Version kNewestVersion = kKnownVersions.back();

std::string versionText(const Version& version);  // `2.27.7`
// The version of a plan in JSON that names none.
std::string unnamedVersionText();
// As NCCL numbers its releases since 2.9: 22707 for 2.27.7.
constexpr int versionNumber(const Version& version) {
  return version.major * 10000 + version.minor * 100 + version.patch;
}
constexpr Version versionOfNumber(int number) { return {number / 10000, number / 100 % 100, number % 100}; }
// Reads `2.27.7`, `2.27` (the series' own version) or `v2.27.7`. Returns nullopt for any other text.
std::optional<Version> parseVersion(std::string_view text);
// The known version that answers for `version`: the one of its series, else the nearest older one, else the
// oldest.
Version nearestKnown(const Version& version);
// `2.25.1, 2.26.2, ...`
std::string knownVersionsText();

}  // namespace xylem::rules
