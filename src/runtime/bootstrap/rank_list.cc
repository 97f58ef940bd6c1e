#include "runtime/bootstrap/rank_list.h"

#include <fmt/core.h>

#include <algorithm>

namespace xylem::bootstrap {
namespace {

constexpr std::size_t kMaxListed = 32;

}  // namespace

std::string ranksNamed(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxListed); ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i]);
  if (ranks.size() > kMaxListed) text += fmt::format(" and {} more", ranks.size() - kMaxListed);
  return text;
}

std::string ranksAre(const std::vector<int>& ranks, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", ranksNamed(ranks), ranks.size() == 1 ? one : many);
}

}  // namespace xylem::bootstrap
