// Last channels: what is left of them is counted rather than walked.

#include "planner/search/search.h"

namespace xylem {
namespace {

// To fewer GPUs than these it is quicker to walk.
constexpr int kTooFewToCount = 3;
// To more than these no budget suffices as a rule, and finding that out takes as long as the square of them.
constexpr int kTooManyToCount = 32;

}  // namespace

// Where GPUs are joined by links of their own, what a channel takes on its way does not matter to the rest of
// it, and after the last channel nothing follows. False if it has to be walked: the budget ends on the way,
// or it improves on the best.
bool Search::chargeByCensus(int gpu, int position, int backToNet) {
  const bool countable = current_.last && traceless_ && terrain_.takesOwnOnly() &&
                         gpus_ <= Census::kMaxGpus && gpus_ - position > kTooFewToCount &&
                         gpus_ - position < kTooManyToCount && (backToNet < 0 || backToNet == gpus_ - 1);
  if (!countable) return false;
  memory_.census.clear(gpus_);
  std::uint64_t visited = 0;
  for (int from = 0; from < gpus_; ++from) {
    if (current_.used[from] != 0) visited |= std::uint64_t{1} << from;
    if (current_.used[from] != 0 && from != gpu) continue;
    for (const Way& way : terrain_.behind(from))
      if (current_.used[way.gpu] == 0 && hasFree(way)) memory_.census.addWay(from, way.gpu, way.hops);
    if (from != gpu) countEnds(from, backToNet);
  }
  if (!memory_.census.count(gpu, visited, time_)) return false;
  Completed completed;
  if (memory_.census.completed().channels > 0)
    completed = {wanted_.nChannels + 1, wanted_.nHops + memory_.census.completed().hops};
  if (isBetter(wanted_, best_, completed)) return false;
  time_ -= memory_.census.steps();
  steps_ += memory_.census.steps();
  completed_.add(completed);
  return true;
}

// How a channel can end at its last GPU: one step to close or complete it, or two for each NET it can leave
// to.
void Search::countEnds(int last, int backToNet) {
  if (backToNet >= 0) {
    int steps = 0;
    Completed ends;
    for (int net : space_.netsWithin(last, wanted_.typeInter)) {
      const Route& route = space_.gpuToNet(last, net);
      if (!mayEndAt(net, gpus_ - 1) || !terrain_.open(route) || !space_.hasFree(route, inter_)) continue;
      steps += 2;
      ends.add({1, route.hops});
    }
    return memory_.census.setEnd(last, steps, ends.hops);
  }
  if (backToFirst_ < 0) return memory_.census.setEnd(last, 1, 0);
  const Route& route = space_.gpuToGpu(last, current_.gpus[0]);
  const bool closes = terrain_.open(route) && space_.hasFree(route, intra_);
  memory_.census.setEnd(last, closes ? 1 : 0, route.hops);
}

}  // namespace xylem
