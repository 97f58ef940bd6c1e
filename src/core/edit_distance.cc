#include "core/edit_distance.h"

#include <algorithm>

namespace xylem {
namespace {

// Farther apart is another word, not a slip of the finger.
constexpr std::size_t kMostEdits = 3;

}  // namespace

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
  std::size_t best = kMostEdits + 1;
  for (const std::string& word : words) {
    if (typed.size() > word.size() + kMostEdits) continue;  // whatever it is, and however long
    const std::size_t distance = editDistance(typed, word);
    // Half of a short word replaced is another word.
    if (distance >= best || distance * 2 > word.size()) continue;
    best = distance;
    nearest = word;
  }
  return nearest;
}

}  // namespace xylem
