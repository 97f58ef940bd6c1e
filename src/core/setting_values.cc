#include "core/setting_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "core/spelling.h"

namespace xylem {
namespace {

// Variables that take one of a few words.
struct WordRule {
  std::string_view name;
  bool anyCase;
  std::array<std::string_view, 6> words;  // empty ones at the end
  const char* otherwise;                  // NCCL's way with another word
};
constexpr WordRule kWordRules[] = {
    {"NCCL_DEBUG", true, {"VERSION", "WARN", "INFO", "ABORT", "TRACE", "NONE"}, "NCCL logs nothing"},
    {"NCCL_LAUNCH_MODE", false, {"PARALLEL", "GROUP"}, "NCCL uses PARALLEL"},
    {"NCCL_IB_ADDR_FAMILY", false, {"AF_INET", "AF_INET6"}, "NCCL uses AF_INET"},
    {"NCCL_SOCKET_FAMILY", false, {"AF_INET", "AF_INET6"}, "NCCL takes addresses of any family"},
};

// Variables whose numbers have limits that NCCL or the hardware sets. -1 and -2 mean "not set" for many and are never odd.
struct NumberRule {
  std::string_view name;
  std::int64_t least, most, step;
  const char* beyond;  // the consequence of a number outside
};
constexpr const char* kClamped = "NCCL uses the nearer limit";
constexpr const char* kThreads =
    "NCCL uses the nearer limit, or the greater one where the number is between two steps";
constexpr const char* kHardware = "a queue pair takes no other, and connections fail or take another";
constexpr NumberRule kNumberRules[] = {
    {"NCCL_NTHREADS", 64, 512, 32, kThreads},
    {"NCCL_LL128_NTHREADS", 160, 640, 32, kThreads},
    {"NCCL_MIN_NCHANNELS", 0, 64, 1, kClamped},
    {"NCCL_MAX_NCHANNELS", 1, 64, 1, kClamped},
    {"NCCL_MIN_NRINGS", 0, 64, 1, kClamped},
    {"NCCL_MAX_NRINGS", 1, 64, 1, kClamped},
    {"NCCL_MIN_CTAS", 1, 64, 1, kClamped},
    {"NCCL_MAX_CTAS", 1, 64, 1, kClamped},
    {"NCCL_IB_TIMEOUT", 0, 31, 1, kHardware},
    {"NCCL_IB_RETRY_CNT", 0, 7, 1, kHardware},
    {"NCCL_IB_SL", 0, 15, 1, kHardware},
    {"NCCL_IB_TC", 0, 255, 1, kHardware},
    {"NCCL_IB_FIFO_TC", 0, 255, 1, kHardware},
    {"NCCL_IB_GID_INDEX", 0, 255, 1, "no port has such an entry"},
    {"NCCL_IB_QPS_PER_CONNECTION", 1, 128, 1, "connections fail"},
    {"NCCL_IB_ROCE_VERSION_NUM", 1, 2, 1, "no entry of a port fits"},
};

// Lists of devices. NCCL reads the first entries only, and does not check how long a name is.
struct ListRule {
  std::string_view name;
  std::size_t entries;
};
constexpr std::size_t kMaxListedName = 63;  // characters
constexpr ListRule kListRules[] = {{"NCCL_SOCKET_IFNAME", kMaxListedInterfaces},
                                   {"NCCL_IB_HCA", kMaxListedPorts},
                                   {"NCCL_OOB_NET_IFNAME", kMaxListedInterfaces}};

// Null if there is none.
template <typename Rule, std::size_t kRules>
const Rule* ruleOf(const Rule (&rules)[kRules], std::string_view name) {
  const auto* found =
      std::find_if(std::begin(rules), std::end(rules), [&](const Rule& rule) { return rule.name == name; });
  return found == std::end(rules) ? nullptr : found;
}

// The number as NCCL reads it, and whether the text is nothing else.
struct ReadNumber {
  std::int64_t value;
  bool whole;
};
ReadNumber readNumber(const std::string& text) {
  char* end = nullptr;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 0);
  return {value, end != text.c_str() && *end == '\0'};
}

// Variables of which NCCL's own default is a number are numbers.
bool isNumber(std::string_view name) {
  if (ruleOf(kNumberRules, name) != nullptr) return true;
  const NcclVariable* const variable = findNcclVariable(name);
  return variable != nullptr && *variable->fallback != '\0' && readNumber(variable->fallback).whole;
}

std::string oddWord(const WordRule& rule, const std::string& value) {
  std::vector<std::string_view> words;
  for (const std::string_view word : rule.words) {
    if (word.empty()) break;
    if (rule.anyCase ? isSameWord(word, value) : word == value) return "";
    words.push_back(word);
  }
  return fmt::format("is none of {}: {}", fmt::join(words, ", "), rule.otherwise);
}

std::string oddNumber(std::string_view name, const std::string& value) {
  const ReadNumber number = readNumber(value);
  if (!number.whole) return fmt::format("is no whole number: NCCL reads {} of it", number.value);
  const NumberRule* const rule = ruleOf(kNumberRules, name);
  if (rule == nullptr || number.value == -1 || number.value == -2) return "";
  const bool fits =
      number.value >= rule->least && number.value <= rule->most && number.value % rule->step == 0;
  if (fits) return "";
  return fmt::format("is not {} to {}{}: {}", rule->least, rule->most,
                     rule->step == 1 ? "" : fmt::format(" in steps of {}", rule->step), rule->beyond);
}

std::string oddList(const ListRule& rule, const std::string& value) {
  std::string_view rest = value;
  while (!rest.empty() && (rest.front() == '^' || rest.front() == '=')) rest.remove_prefix(1);
  std::size_t entries = 0;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry.empty()) continue;
    ++entries;
    const std::string_view device = entry.substr(0, entry.find(':'));
    if (device.size() > kMaxListedName)
      return fmt::format("names a device of {} characters: NCCL has room for {}, and does not check",
                         device.size(), kMaxListedName);
  }
  if (entries <= rule.entries) return "";
  return fmt::format("has {} entries: NCCL reads the first {} and ignores the others", entries, rule.entries);
}

std::string oddSubsystems(const std::string& value) {
  std::vector<std::string> unknown;
  parseSubsystems(value, &unknown);
  if (unknown.empty()) return "";
  return fmt::format("names no subsystem with {}: NCCL ignores {}", fmt::join(unknown, ", "),
                     unknown.size() == 1 ? "it" : "them");
}

}  // namespace

std::string oddityOf(std::string_view name, const std::string& value) {
  if (value.empty()) return "";
  if (const WordRule* const rule = ruleOf(kWordRules, name)) return oddWord(*rule, value);
  if (const ListRule* const rule = ruleOf(kListRules, name)) return oddList(*rule, value);
  if (name == "NCCL_DEBUG_SUBSYS") return oddSubsystems(value);
  return isNumber(name) ? oddNumber(name, value) : "";
}

}  // namespace xylem
