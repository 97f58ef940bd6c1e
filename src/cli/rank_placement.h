#pragma once
// A file that says on which host each rank is: one number per line, rank after rank, hosts counted from 0.
// What follows a # is a remark.
//
//   std::vector<int> hostOfRank = readPlacement("ranks.txt", 4);

#include <string>
#include <vector>

namespace xylem::cli {

// Throws InputError with file and line.
std::vector<int> readPlacement(const std::string& path, int hosts);

}  // namespace xylem::cli
