#include "cli/number_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/error.h"
#include "core/number_ranges.h"
#include "core/spelling.h"

namespace xylem::cli {
namespace {

constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr std::uint64_t kUnit = 1024;

// Longer lists of ranks are shown by their ends.
constexpr std::size_t kMaxRanksShown = 32;
constexpr std::size_t kFirstRanks = 20;
constexpr std::size_t kLastRanks = 4;

}  // namespace

std::string sizeText(std::uint64_t bytes) {
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes >= kUnit && bytes % kUnit == 0; ++unit) bytes /= kUnit;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string byteText(std::uint64_t bytes) {
  std::size_t unit = 0;
  std::uint64_t scale = 1;
  while (unit + 1 < kUnits.size() && bytes / scale >= kUnit) {
    scale *= kUnit;
    ++unit;
  }
  if (bytes % scale == 0) return fmt::format("{} {}", bytes / scale, kUnits[unit]);
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(scale), kUnits[unit]);
}

std::string sizesText(std::uint64_t first, std::uint64_t last, std::uint64_t max) {
  // An end next to a round number is written as that number: 131071 as 128 KiB.
  const std::string begin = byteText((first - 1) % kUnit == 0 ? first - 1 : first);
  const bool isBelow = (last + 1) % kUnit == 0;
  const std::string end = byteText(isBelow ? last + 1 : last);
  if (first <= 1) return last >= max ? "all sizes" : (isBelow ? "below " : "up to ") + end;
  return last >= max ? "from " + begin : begin + " to " + end;
}

std::size_t parseBytes(const std::string& text, const std::string& option) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
  const std::optional<std::uint64_t> bytes = parseSize(text);
  if (!bytes || *bytes > kMaxBytes)
    throw InputError({option, 0}, "`" + text + "`",
                     "a number of bytes such as 8, 64K, 1.5M, 256 KiB or 2G, at most 1024G");
  return *bytes;
}

std::string counted(int count, std::string_view singular) {
  const std::string_view ending = count == 1 ? "" : singular.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, singular, ending);
}

std::string listText(const std::vector<int>& numbers, std::size_t maxRanges) {
  std::string text;
  std::size_t ranges = 0;
  for (const auto& [first, last] : numberRanges(numbers)) {
    if (maxRanges > 0 && ranges == maxRanges) return text + ",...";
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last > first) text += fmt::format("{}{}", last == first + 1 ? "," : "-", last);
    ++ranges;
  }
  return text;
}

std::string ranksText(const std::vector<int>& ranks, const std::vector<int>& nodeOfRank, std::size_t digits) {
  const auto node = [&](std::size_t i) {
    return nodeOfRank.empty() ? 0 : nodeOfRank[static_cast<std::size_t>(ranks[i])];
  };
  std::string text;
  const bool shortened = ranks.size() > kMaxRanksShown;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (shortened && i == kFirstRanks) {
      text += fmt::format(" ... {} more ...", ranks.size() - kFirstRanks - kLastRanks);
      i = ranks.size() - kLastRanks;
    } else if (i > 0 && node(i) != node(i - 1)) {
      text += " |";
    }
    text += fmt::format("{}{:>{}}", text.empty() ? "" : " ", ranks[i], digits);
  }
  return text;
}

}  // namespace xylem::cli
