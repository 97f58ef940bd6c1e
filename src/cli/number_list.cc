#include "cli/number_list.h"

#include <fmt/format.h>

#include <array>

namespace xylem::cli {
namespace {

constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr std::uint64_t kUnit = 1024;

}  // namespace

std::string listText(const std::vector<int>& numbers, std::size_t mostRanges) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (mostRanges > 0 && ranges == mostRanges) return text + ",...";
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (end > i) text += fmt::format("{}{}", end == i + 1 ? "," : "-", numbers[end]);
    ++ranges;
    i = end + 1;
  }
  return text;
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

std::string sizesText(std::uint64_t first, std::uint64_t last, std::uint64_t most) {
  // Bounds are told by the round number next to them: 131071 as 128 KiB.
  const std::string begin = byteText((first - 1) % kUnit == 0 ? first - 1 : first);
  const bool isBelow = (last + 1) % kUnit == 0;
  const std::string end = byteText(isBelow ? last + 1 : last);
  if (first <= 1) return last >= most ? "all sizes" : (isBelow ? "below " : "up to ") + end;
  return last >= most ? "from " + begin : begin + " to " + end;
}

}  // namespace xylem::cli
