#include "planner/tuning/choice_ranges.h"

#include <algorithm>

#include "planner/tuning/block_size.h"
#include "planner/tuning/measured.h"

namespace xylem::tuning {
namespace {

// choose() for one kind of operation and many sizes: keeps the candidates that can run.
class Chooser {
 public:
  Chooser(const TuningModel& model, const Operation& operation) : model_(model), operation_(operation) {
    operation_.bytes = 1;
    for (const Candidate& candidate : choose(model, operation_).ranking)
      if (candidate.excluded == Exclusion::kNone) candidates_.push_back(candidate);
    // NCCL's order: of equal candidates the first one wins.
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.algorithm != b.algorithm ? a.algorithm < b.algorithm : a.protocol < b.protocol;
    });
  }

  Pick at(std::uint64_t bytes) {
    operation_.bytes = bytes;
    const Candidate* best = nullptr;
    float least = model_.input.rules->slowestTime;
    for (const Candidate& candidate : candidates_) {
      // The model predicts no time for the copy of a rank alone.
      const float time = model_.input.ranks == 1
                             ? 0
                             : predictedTime(model_, operation_, candidate.algorithm, candidate.protocol);
      if (!(time >= 0 && time < least)) continue;
      least = time;
      best = &candidate;
    }
    if (best == nullptr) return {};
    const BlockSize size = blockSize(model_, bytes, best->algorithm, best->protocol);
    return {true, best->algorithm, best->protocol, size.channels, size.warps};
  }

 private:
  const TuningModel& model_;
  Operation operation_;
  std::vector<Candidate> candidates_;
};

// Returns the sizes at which the formula of a predicted time changes. Between two of them each candidate's
// time is a straight line and channels only grow: equal picks at two sizes hold for all sizes between.
std::vector<std::uint64_t> bends(const TuningInput& input) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 1; bytes <= kMaxBytes; bytes *= 2) sizes.push_back(bytes);
  const std::uint64_t plateau = measured::kPlateauBytes *
                                static_cast<std::uint64_t>(std::max(input.nChannels, 1)) *
                                static_cast<std::uint64_t>(input.ranks);
  if (plateau < kMaxBytes) sizes.push_back(plateau);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

Pick pickOf(const Choice& choice) {
  const Candidate* best = choice.best();
  if (best == nullptr) return {};
  return {true, best->algorithm, best->protocol, choice.channels, choice.warps};
}

std::vector<ChoiceRange> choiceRanges(const TuningModel& model, const Operation& operation) {
  Chooser chooser(model, operation);
  std::vector<ChoiceRange> ranges;
  const auto add = [&](std::uint64_t first, std::uint64_t last, const Pick& pick) {
    if (!ranges.empty() && ranges.back().pick == pick)
      ranges.back().last = last;
    else
      ranges.push_back({first, last, pick});
  };
  const std::vector<std::uint64_t> sizes = bends(model.input);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint64_t end = i + 1 < sizes.size() ? sizes[i + 1] - 1 : kMaxBytes;
    for (std::uint64_t first = sizes[i]; first <= end;) {
      const Pick pick = chooser.at(first);
      // Bisect: `last` has the pick of `first`, `beyond` lies past the range.
      std::uint64_t last = first;
      std::uint64_t beyond = end + 1;
      if (chooser.at(end) == pick) last = end;
      while (last + 1 < beyond && last != end) {
        const std::uint64_t middle = last + (beyond - last) / 2;
        (chooser.at(middle) == pick ? last : beyond) = middle;
      }
      add(first, last, pick);
      first = last + 1;
    }
  }
  return ranges;
}

}  // namespace xylem::tuning
