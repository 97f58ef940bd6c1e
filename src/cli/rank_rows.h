#pragma once
// Rows of ranks: long ones shortened, equal ones of several channels together.
//
//   ranksText({0, 1, 2, 3}, nodeOfRank, 1)    ->   "0 1 | 2 3"
//   grouped(std::vector{a, b, a})             ->   a on channels 0 and 2, b on channel 1

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace xylem::cli {

// The numbers in order, each at least `digits` wide, with a stroke where the ring leaves a node (nodeOfRank
// may be empty); the middle of long lists left out.
std::string ranksText(const std::vector<int>& ranks, const std::vector<int>& nodeOfRank, std::size_t digits);

template <typename Line>
struct Group {
  Line line;
  std::vector<int> channels;
};

// Equal lines together, in the order of their first channels.
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
