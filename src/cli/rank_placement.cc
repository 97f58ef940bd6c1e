#include "cli/rank_placement.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

#include "core/error.h"

namespace xylem::cli {

std::vector<int> readPlacement(const std::string& path, int hosts) {
  std::ifstream file(path);
  if (!file.is_open())
    throw InputError({"--ranks", 0}, "`" + path + "`",
                     "block, round-robin, or a readable file with the host of each rank");
  std::vector<int> hostOfRank;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t\r") + 1;
    const std::string word = line.substr(begin, end - begin);
    int host = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), host);
    if (error != std::errc() || stop != word.data() + word.size() || host < 0 || host >= hosts)
      throw InputError(
          {path, number}, "`" + word + "`",
          fmt::format("the host of rank {}, a number from 0 to {}", hostOfRank.size(), hosts - 1));
    hostOfRank.push_back(host);
  }
  if (hostOfRank.empty())
    throw InputError({path, 0}, "no ranks", "the host of each rank, one number per line");
  return hostOfRank;
}

}  // namespace xylem::cli
