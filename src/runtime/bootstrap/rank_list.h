#pragma once
// Lists of ranks in messages, cut off after 32.
//
//   ranksNamed({2, 5})        "ranks 2, 5"
//   ranksAre({2, 5})          "ranks 2, 5 are"
//   ranksAre({2})             "rank 2 is"

#include <string>
#include <string_view>
#include <vector>

namespace xylem::bootstrap {

// "rank 2", "ranks 2, 5, 7 and 90 more".
std::string ranksNamed(const std::vector<int>& ranks);

// With the verb that fits: "rank 2 waits", "ranks 2, 5 wait".
std::string ranksAre(const std::vector<int>& ranks, std::string_view one = "is",
                     std::string_view many = "are");

}  // namespace xylem::bootstrap
