#include "core/number_ranges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

namespace xylem {
namespace {

constexpr std::size_t kMaxRanges = 8;

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

std::string rankRanges(std::span<const int> ranks) {
  std::vector<std::string> parts;
  for (const auto& [first, last] : numberRanges(ranks)) {
    if (parts.size() == kMaxRanges) {
      parts.push_back(fmt::format("... ({} ranks in all)", ranks.size()));
      break;
    }
    parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(parts, ", "));
}

}  // namespace xylem
