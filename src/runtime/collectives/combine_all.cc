#include "runtime/collectives/combine_all.h"

#include <algorithm>
#include <cassert>

#include "core/copying.h"
#include "core/fault_point.h"

namespace xylem::collectives {
namespace {

// Results of a block stay in the first-level cache until they are where they belong. Past the caches blocks of 8 KiB took up to a tenth less time
// than of 4.
constexpr std::size_t kBlockBytes = std::size_t{4} << 10, kStreamedBlockBytes = std::size_t{8} << 10;

// `length` elements from byte `at` of all sources on.
struct Block {
  std::size_t at, length;
};

void sumBlock(const Reduction& reduction, const CombineSources& sources, const Block& block, std::byte* out) {
  const std::byte* from[Reduction::kMaxSummed];
  const std::size_t ranks = sources.data.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) from[rank] = sources.data[rank] + block.at;
  reduction.sumAll(out, nullptr, from, sources.factors.data(), static_cast<int>(ranks), block.length);
}

// Combines rank by rank in `partial`. The last combination writes to `out`, which may be `partial`, and to `copy`, if that is not null.
void combineBlock(const Reduction& reduction, const CombineSources& sources, const Block& block,
                  std::byte* partial, std::byte* out, std::byte* copy) {
  const std::size_t last = sources.data.size() - 1;
  const std::byte* sum = sources.data[0] + block.at;
  if (reduction.scales) {
    reduction.enter(partial, sum, block.length, sources.factors[0]);
    sum = partial;
  }
  for (std::size_t i = 1; i < last; ++i) {
    reduction.combine(partial, sum, sources.data[i] + block.at, block.length, sources.factors[i]);
    sum = partial;
  }
  reduction.finish(out, copy, sum, sources.data[last] + block.at, block.length, sources.factors[last]);
}

// Writes the same to all outputs, past the caches to two of them at once. Meanwhile `next` is fetched.
void streamToAll(std::span<std::byte* const> out, std::size_t at, const std::byte* result, std::size_t bytes,
                 ReadNext next) {
  for (std::size_t i = 0; i < out.size(); i += 2) {
    streamBytes(out[i] + at, i + 1 < out.size() ? out[i + 1] + at : nullptr, result, bytes, next);
    next = {};
  }
}

}  // namespace

// Into at most two outputs a reduction does all in a single call if there are two ranks whose elements are not scaled first, or if it has sumAll.
// Otherwise, and past the caches, it goes block by block here.
void combineAll(const Reduction& reduction, const CombineSources& sources, std::span<std::byte* const> out,
                std::size_t n, bool streaming) {
  XYLEM_FAULT_POINT(kWork);
  const auto& [data, factors] = sources;
  assert(data.size() >= 2 && !out.empty());
  const bool two = data.size() == 2 && !reduction.scales;
  const bool sums = reduction.sumAll != nullptr && !two && data.size() <= Reduction::kMaxSummed;
  const bool atOnce = out.size() <= 2 && !streaming;  // a call writes to the outputs itself
  std::byte* const copy = out.size() > 1 ? out[1] : nullptr;
  if (atOnce && two) return reduction.finish(out[0], copy, data[0], data[1], n, factors[1]);
  if (atOnce && sums)
    return reduction.sumAll(out[0], copy, data.data(), factors.data(), static_cast<int>(data.size()), n);

  alignas(kCacheLine) std::byte result[kStreamedBlockBytes];
  const std::size_t whole = streaming ? kStreamedBlockBytes : kBlockBytes, element = reduction.elementBytes;
  // Past the caches the first block ends where a line of an output does, if elements do.
  const std::size_t offset = streaming ? reinterpret_cast<std::uintptr_t>(out[0]) % kCacheLine : 0;
  std::size_t most = (whole - offset) / element;
  for (std::size_t start = 0; start < n;) {
    const Block block{start * element, std::min(most, n - start)};
    if (sums)
      sumBlock(reduction, sources, block, result);
    else if (atOnce)
      combineBlock(reduction, sources, block, result, out[0] + block.at,
                   copy == nullptr ? nullptr : copy + block.at);
    else
      combineBlock(reduction, sources, block, result, result, nullptr);
    start += block.length;
    most = whole / element;
    const std::size_t bytes = block.length * element;
    if (streaming)
      streamToAll(out, block.at, result, bytes,
                  {data, block.at + bytes, std::min(most, n - start) * element});
    else if (!atOnce)
      for (std::byte* const place : out) copyBytes(place + block.at, result, bytes);
  }
  if (streaming) endStreaming();
}

}  // namespace xylem::collectives
