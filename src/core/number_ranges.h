#pragma once
// Ascending numbers as ranges of neighbours, for messages that list ranks.
//
//   numberRanges({0, 1, 2, 5})     ->   {0, 2}, {5, 5}
//   rangesText({0, 1, 2, 5})       ->   "0-2,5"
//   rankRanges({0, 1, 2, 5})       ->   "ranks 0-2, 5"

#include <span>
#include <string>
#include <vector>

namespace xylem {

// Both ends included.
struct NumberRange {
  int first;
  int last;
  bool operator==(const NumberRange&) const = default;
};

std::vector<NumberRange> numberRanges(std::span<const int> numbers);

std::string rangesText(std::span<const int> numbers);

// `ranks 0-2, 5` or `rank 3`. A list of more than eight ranges ends with how many ranks there are.
std::string rankRanges(std::span<const int> ranks);

}  // namespace xylem
