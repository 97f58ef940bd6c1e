// PAT ReduceScatter: partial results go up the trees, over short edges first. Where a tree branches, they are
// kept: at the root in the output, elsewhere in scratch, a place for every even distance from the owner.

#include "runtime/collectives/pat.h"
#include "runtime/collectives/programs.h"

namespace xylem {
namespace {

// Scratch is not to grow with the number of ranks: beyond so many chunks, pieces shrink.
constexpr std::size_t kScratchChunks = 4;

// Distances 2, 4, ... that have children.
constexpr std::size_t places(int ranks) { return ranks < 4 ? 0 : static_cast<std::size_t>(ranks / 2 - 1); }

std::size_t chunkOf(const Shape& shape) {
  const std::size_t kept = places(shape.ranks);
  if (kept <= kScratchChunks) return shape.chunk;
  const std::size_t fair = kScratchChunks * shape.chunk / kept;
  return std::max(shape.grain, fair / shape.grain * shape.grain);
}

bool hasChildren(int distance, int ranks) { return distance % 2 == 0 && distance + 1 < ranks; }

Place partial(int distance, const Piece& piece, std::size_t chunk) {
  return distance == 0 ? inOutput(piece.offset)
                       : inScratch(static_cast<std::size_t>(distance / 2 - 1) * chunk);
}

std::uint64_t length(const Shape& shape) {
  return shape.ranks == 1 ? pieces(shape) : pieces(shape, chunkOf(shape)) * patTransfers(shape.ranks);
}

Instruction at(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const std::size_t chunk = chunkOf(shape);
  const PatStep step = patStep(shape, chunk, PatOrder::kShortFirst, index);
  const int distance = step.sends ? step.far : step.near;
  const int owner = around(shape.rank - distance, n);
  const Place raw = inInput(blockStart(shape, owner) + step.piece.offset);
  const Place kept = partial(distance, step.piece, chunk);
  const std::size_t count = step.piece.count;
  if (step.sends) return Instruction::send(queue(step.phase), hasChildren(distance, n) ? kept : raw, count);

  const Place own = step.phase == 0 ? raw : kept;
  const bool last = distance == 0 && step.phase == patPhases(n) - 1;
  return last ? Instruction::recvReduceCopy(queue(step.phase), own, kept, count)
              : Instruction::recvReduceKeep(queue(step.phase), own, kept, count);
}

}  // namespace

constexpr Program kPatReduceScatter{&length, &at};

std::size_t patReduceScatterScratch(const Shape& shape) { return places(shape.ranks) * chunkOf(shape); }

}  // namespace xylem
