#include "insight/diff/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace xylem {
namespace {

constexpr double kTolerance = 1e-4;
constexpr std::size_t kMostRanksNamed = 16;

}  // namespace

void ChangeList::add(Change change, ChangedThing thing) {
  change.where = where_;
  const auto [found, isNew] = known_.emplace(
      Key{change.kind, change.what, change.before, change.after, change.whyBefore, change.whyAfter},
      changes_.size());
  if (isNew) changes_.push_back(std::move(change));
  changes_[found->second].things.push_back(std::move(thing));
}

void ChangeList::appendTo(Changes& changes) {
  std::move(changes_.begin(), changes_.end(), std::back_inserter(changes));
  changes_.clear();
  known_.clear();
}

bool sameNumber(double a, double b) {
  return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::string shortList(const std::vector<std::string>& words, std::size_t most, const char* between) {
  if (words.size() <= most) return fmt::format("{}", fmt::join(words, between));
  const auto first = static_cast<std::ptrdiff_t>(most - most / 4);
  const auto last = static_cast<std::ptrdiff_t>(most / 4);
  return fmt::format("{} ... {} more ... {}", fmt::join(words.begin(), words.begin() + first, between),
                     words.size() - most, fmt::join(words.end() - last, words.end(), between));
}

std::string ranksText(const std::vector<int>& ranks) {
  std::vector<std::string> words;
  for (int rank : ranks) words.push_back(std::to_string(rank));
  return shortList(words, kMostRanksNamed, " ");
}

}  // namespace xylem
