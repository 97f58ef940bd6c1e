#include "runtime/bootstrap/rank_list.h"

#include <fmt/core.h>

#include <algorithm>

namespace xylem {
namespace {

constexpr std::size_t kMostListed = 32;

}  // namespace

std::string rankList(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMostListed) text += fmt::format(" and {} more", ranks.size() - kMostListed);
  return text;
}

std::string ranksAre(const std::vector<int>& ranks, std::string_view one, std::string_view many) {
  return fmt::format("{} {} {}", ranks.size() == 1 ? "rank" : "ranks", rankList(ranks),
                     ranks.size() == 1 ? one : many);
}

}  // namespace xylem
