#include "golden/compare.h"

#include <cmath>
#include <set>

namespace xylem::golden {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;

// Keys that describe the effort or the input.
const std::set<std::string> kNotCompared = {"input", "searchSteps", "searches", "timeouts", "nHops"};

std::optional<std::string> differenceAt(const std::string& path, const json& expected, const json& actual);

// Goldens of large jobs have some elements of a list, by their number.
std::optional<std::string> sampleDifference(const std::string& path, const json& sample, const json& actual) {
  for (const auto& [key, value] : sample.items()) {
    const auto i = static_cast<std::size_t>(std::stoul(key));
    if (i >= actual.size()) return path + "/" + key + ": got a list of " + std::to_string(actual.size());
    if (auto found = differenceAt(path + "/" + key, value, actual[i])) return found;
  }
  return std::nullopt;
}

std::optional<std::string> differenceAt(const std::string& path, const json& expected, const json& actual) {
  const auto differs = [&] { return path + ": expected " + expected.dump() + ", got " + actual.dump(); };
  if (expected.is_object()) {
    if (expected.contains("refused")) return std::nullopt;  // the reference has no answer
    if (expected.contains("sample") && actual.is_array())
      return sampleDifference(path, expected["sample"], actual);
    if (!actual.is_object()) return differs();
    for (const auto& [key, value] : expected.items()) {
      if (kNotCompared.contains(key)) continue;
      if (!actual.contains(key))
        return path + "/" + key + ": expected " + value.dump().substr(0, 200) + ", got nothing";
      if (auto found = differenceAt(path + "/" + key, value, actual[key])) return found;
    }
    return std::nullopt;
  }
  if (expected.is_array()) {
    if (!actual.is_array()) return differs();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string at = path + "/" + std::to_string(i);
      if (i >= actual.size()) return at + ": expected " + expected[i].dump() + ", got the end of the list";
      if (auto found = differenceAt(at, expected[i], actual[i])) return found;
    }
    if (actual.size() > expected.size())
      return path + ": expected " + std::to_string(expected.size()) + " elements, got " +
             std::to_string(actual.size());
    return std::nullopt;
  }
  if (expected.is_number() && actual.is_number()) {
    const double a = expected.get<double>();
    const double b = actual.get<double>();
    const bool integers = expected.is_number_integer() && actual.is_number_integer();
    const bool equal =
        integers ? a == b : std::fabs(a - b) <= kTolerance * std::max(std::fabs(a), std::fabs(b));
    return equal ? std::nullopt : std::optional(differs());
  }
  return expected == actual ? std::nullopt : std::optional(differs());
}

}  // namespace

std::optional<std::string> firstDifference(const json& expected, const json& actual) {
  return differenceAt("", expected, actual);
}

}  // namespace xylem::golden
