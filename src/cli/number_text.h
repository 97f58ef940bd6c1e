#pragma once
// Numbers as the commands write and read them: sizes in bytes, counts of things, lists of numbers and rows of
// ranks.
//
//   sizeText(65536)                ->   "64 KiB";  parseBytes("64K", "--sizes")  ->  65536
//   counted(2, "CPU")              ->   "2 CPUs"
//   listText({0, 1, 2, 12})        ->   "0-2,12"
//   listText({0, 2, 4, 6, 8}, 3)   ->   "0,2,4,..."

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::cli {

// "512 B", "64 KiB", "3 GiB": exact. A number that is not a whole multiple of the next unit stays in the
// smaller one.
std::string sizeText(std::uint64_t bytes);

// In the largest unit that fits, rounded to a tenth: "64 KiB", and "68.4 KiB" for 70000.
std::string byteText(std::uint64_t bytes);

// A range of sizes, both ends included: "below 1 KiB", "64 KiB to 1 MiB", "from 1 MiB". A `last` of `max` or
// more stands for no end.
std::string sizesText(std::uint64_t first, std::uint64_t last, std::uint64_t max);

// "8", "64K", "1.5M", "256 KiB" (powers of 1024; core/spelling.h). Throws InputError naming `option`.
std::size_t parseBytes(const std::string& text, const std::string& option);

// "2 CPUs", "1 GPU", "3 switches".
std::string counted(int count, std::string_view singular);

// Ascending numbers as ranges, at most `maxRanges` of them; 0: all.
std::string listText(const std::vector<int>& numbers, std::size_t maxRanges = 0);

// Ranks in the given order, each at least `digits` wide, with a stroke where the node changes: "0 1 | 2 3".
// `nodeOfRank` may be empty. Leaves out the middle of long lists.
std::string ranksText(const std::vector<int>& ranks, const std::vector<int>& nodeOfRank, std::size_t digits);

// A line that stands for several channels.
template <typename Line>
struct Group {
  Line line;
  std::vector<int> channels;
};

// Merges equal lines: `{a, b, a}` becomes a on channels 0 and 2, b on channel 1. `lines` is by channel; the
// groups are in the order of their first channels.
template <typename Line>
std::vector<Group<Line>> grouped(const std::vector<Line>& lines) {
  std::vector<Group<Line>> groups;
  std::map<Line, std::size_t> known;
  for (std::size_t channel = 0; channel < lines.size(); ++channel) {
    const auto [found, isNew] = known.emplace(lines[channel], groups.size());
    if (isNew) groups.push_back({lines[channel], {}});
    groups[found->second].channels.push_back(static_cast<int>(channel));
  }
  return groups;
}

}  // namespace xylem::cli
