#pragma once
// How many letters two words differ by, for "did you mean …?".
//
//   editDistance("plna", "plan")                         -> 2
//   nearestWord("detct", {"detect", "plan", "show"})     -> "detect"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

// Letters to insert, delete or replace to turn one word into the other.
std::size_t editDistance(std::string_view a, std::string_view b);

// The nearest word at most three edits and half its length away (the first of equals); empty if there is
// none.
std::string nearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace xylem
