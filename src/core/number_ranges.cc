#include "core/number_ranges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

namespace xylem {
namespace {

constexpr std::size_t kMaxRanges = 8;

std::string textOf(const NumberRange& range) {
  return range.first == range.last ? std::to_string(range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
}

}  // namespace

std::vector<NumberRange> numberRanges(std::span<const int> numbers) {
  std::vector<NumberRange> ranges;
  for (const int number : numbers) {
    if (!ranges.empty() && number == ranges.back().last + 1)
      ranges.back().last = number;
    else
      ranges.push_back({number, number});
  }
  return ranges;
}

std::string rangesText(std::span<const int> numbers) {
  std::vector<std::string> parts;
  for (const NumberRange& range : numberRanges(numbers)) parts.push_back(textOf(range));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string rankRanges(std::span<const int> ranks) {
  std::vector<std::string> parts;
  for (const NumberRange& range : numberRanges(ranks)) {
    if (parts.size() == kMaxRanges) {
      parts.push_back(fmt::format("... ({} ranks in all)", ranks.size()));
      break;
    }
    parts.push_back(textOf(range));
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(parts, ", "));
}

}  // namespace xylem
