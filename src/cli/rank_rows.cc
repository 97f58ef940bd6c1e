#include "cli/rank_rows.h"

#include <fmt/format.h>

namespace xylem::cli {
namespace {

// Lists of more ranks are shown by their ends.
constexpr std::size_t kMostRanks = 32;
constexpr std::size_t kFirstRanks = 20;
constexpr std::size_t kLastRanks = 4;

}  // namespace

std::string ranksText(const std::vector<int>& ranks, const std::vector<int>& nodeOfRank, std::size_t digits) {
  const auto node = [&](std::size_t i) {
    return nodeOfRank.empty() ? 0 : nodeOfRank[static_cast<std::size_t>(ranks[i])];
  };
  std::string text;
  const bool shortened = ranks.size() > kMostRanks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (shortened && i == kFirstRanks) {
      text += fmt::format(" ... {} more ...", ranks.size() - kFirstRanks - kLastRanks);
      i = ranks.size() - kLastRanks;
    } else if (i > 0 && node(i) != node(i - 1)) {
      text += " |";
    }
    text += fmt::format("{}{:>{}}", text.empty() ? "" : " ", ranks[i], digits);
  }
  return text;
}

}  // namespace xylem::cli
