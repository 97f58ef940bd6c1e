#pragma once
// The edit distance of two words, for "did you mean …?".
//
//   editDistance("plna", "plan")                         -> 2
//   nearestWord("detct", {"detect", "plan", "show"})     -> "detect"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

// The number of letters to insert, delete or replace to turn one word into the other.
std::size_t editDistance(std::string_view a, std::string_view b);

// The nearest word that is at most three edits and half its length away, the first of several equally near
// ones. Empty if there is none.
std::string nearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace xylem
