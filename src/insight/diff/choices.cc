// What followed for operations: the algorithm and protocol of each size, and the predicted time.
#include <algorithm>

#include "insight/diff/changes.h"
#include "insight/diff/sections.h"

namespace xylem {
namespace {

const std::vector<ChoiceFacts>* find(const PlanFacts& facts, const std::string& collective) {
  for (const auto& [name, choices] : facts.choices)
    if (name == collective) return &choices;
  return nullptr;
}

double ratioOf(const ChoiceFacts& a, const ChoiceFacts& b) {
  return a.time > 0 && b.time > 0 ? b.time / a.time : 0;
}

// Faster, slower or as fast: sizes with one candidate on both sides and another sign do not belong together.
int sign(double ratio) { return ratio == 0 || sameNumber(ratio, 1) ? 0 : ratio > 1 ? 1 : -1; }

void compareSizes(const std::string& collective, const std::vector<ChoiceFacts>& a,
                  const std::vector<ChoiceFacts>& b, std::vector<ChoiceChange>& changes) {
  bool going = false;
  for (const ChoiceFacts& before : a) {
    const auto after = std::find_if(b.begin(), b.end(),
                                    [&](const ChoiceFacts& other) { return other.bytes == before.bytes; });
    if (after == b.end()) continue;
    const double ratio = ratioOf(before, *after);
    const bool sameCandidate = before.candidate == after->candidate;
    if (sameCandidate && sign(ratio) == 0) {
      going = false;
      continue;
    }
    if (going) {
      ChoiceChange& last = changes.back();
      const bool alike = last.before == before.candidate && last.after == after->candidate &&
                         (!sameCandidate || sign(last.mostRatio) == sign(ratio));
      if (alike) {
        last.toBytes = before.bytes;
        last.leastRatio = std::min(last.leastRatio, ratio);
        last.mostRatio = std::max(last.mostRatio, ratio);
        continue;
      }
    }
    changes.push_back(
        {collective, before.bytes, before.bytes, before.candidate, after->candidate, ratio, ratio});
    going = true;
  }
}

}  // namespace

void compareChoices(const PlanFacts& a, const PlanFacts& b, PlanDiff& diff) {
  for (const auto& [collective, before] : a.choices)
    if (const auto* after = find(b, collective)) compareSizes(collective, before, *after, diff.choices);
}

}  // namespace xylem
