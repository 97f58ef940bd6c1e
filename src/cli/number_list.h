#pragma once
// Numbers for people, short.
//
//   listText({0, 1, 2, 12})        ->   "0-2,12"
//   listText({0, 2, 4, 6, 8}, 3)   ->   "0,2,4,..."
//   byteText(65536)                ->   "64 KiB";  byteText(70000)  ->   "68.4 KiB"
//   sizesText(1, 1023, most)       ->   "below 1 KiB"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace xylem::cli {

// Ascending numbers as ranges, at most `mostRanges` of them; 0 for all.
std::string listText(const std::vector<int>& numbers, std::size_t mostRanges = 0);

// Whole numbers of a unit exactly, others rounded to a tenth.
std::string byteText(std::uint64_t bytes);

// Both included. `most` stands for no end.
std::string sizesText(std::uint64_t first, std::uint64_t last, std::uint64_t most);

}  // namespace xylem::cli
