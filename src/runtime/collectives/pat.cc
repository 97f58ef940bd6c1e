#include "runtime/collectives/pat.h"

namespace xylem {
namespace {

struct Turn {
  bool sends = false;
  int edge = 0;
};

// Of `edges` sends and as many receives, with `ahead` sends before the first receive.
Turn turnOf(int index, int edges, int ahead) {
  const int lead = std::min(edges, ahead);
  if (index < lead) return {true, index};
  const int past = index - lead;
  const int pairs = edges - lead;
  if (past >= 2 * pairs) return {false, past - pairs};
  return past % 2 == 0 ? Turn{false, past / 2} : Turn{true, lead + past / 2};
}

}  // namespace

PatStep patStep(const Shape& shape, std::size_t chunk, PatOrder order, std::uint64_t index) {
  const std::uint64_t transfers = patTransfers(shape.ranks);
  const std::uint64_t round = index < transfers ? 0 : index / transfers;
  auto left = static_cast<int>(index - round * transfers);
  const int phases = patPhases(shape.ranks);
  int phase = order == PatOrder::kLongFirst ? phases - 1 : 0;
  while (left >= 2 * patEdges(shape.ranks, phase)) {
    left -= 2 * patEdges(shape.ranks, phase);
    phase += order == PatOrder::kLongFirst ? -1 : 1;
  }
  PatStep step;
  step.piece = piece(shape, chunk, round);
  const Turn turn = turnOf(left, patEdges(shape.ranks, phase), patAhead(shape, step.piece.count));
  step.sends = turn.sends;
  step.phase = phase;
  step.near = turn.edge << (phase + 1);
  step.far = step.near + (1 << phase);
  return step;
}

}  // namespace xylem
