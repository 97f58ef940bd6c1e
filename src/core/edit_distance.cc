#include "core/edit_distance.h"

#include <algorithm>

namespace xylem {
namespace {

// With more edits it is another word, not a typing error.
constexpr std::size_t kMaxEdits = 3;

}  // namespace

// Dynamic programming over prefixes: row[j] is the distance of the first i letters of `a` and the first j of
// `b`.
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string nearestWord(std::string_view typed, const std::vector<std::string>& words) {
  std::string nearest;
  std::size_t best = kMaxEdits + 1;
  for (const std::string& word : words) {
    if (typed.size() > word.size() + kMaxEdits) continue;  // do not compare texts of any length
    const std::size_t distance = editDistance(typed, word);
    // More than half of the letters differ: another word.
    if (distance >= best || distance * 2 > word.size()) continue;
    best = distance;
    nearest = word;
  }
  return nearest;
}

}  // namespace xylem
