#include "runtime/collectives/combine_all.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/copying.h"
#include "core/fault_point.h"

namespace xylem::collectives {
namespace {

// Partial results of a block stay in the first-level cache.
constexpr std::size_t kBlockBytes = std::size_t{4} << 10;

void copyOn(std::byte* to, const std::byte* from, std::size_t bytes, bool streaming) {
  if (to == from) return;
  if (streaming)
    copyBytesStreaming(to, from, bytes);
  else
    copyBytes(to, from, bytes);
}

// With one rounding for all ranks.
void sumAll(const Reduction& reduction, const CombineSources& sources, std::span<std::byte* const> out,
            std::size_t n, bool streaming) {
  const auto ranks = static_cast<int>(sources.data.size());
  if (out.size() <= 2 && !streaming)
    return reduction.sumAll(out[0], out.size() > 1 ? out[1] : nullptr, sources.data.data(),
                            sources.factors.data(), ranks, n);
  alignas(64) std::byte result[kBlockBytes];
  const std::byte* from[Reduction::kMaxSummed];
  const std::size_t block = kBlockBytes / reduction.elementBytes;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t length = std::min(block, n - start), at = start * reduction.elementBytes;
    for (int rank = 0; rank < ranks; ++rank) from[rank] = sources.data[static_cast<std::size_t>(rank)] + at;
    reduction.sumAll(result, nullptr, from, sources.factors.data(), ranks, length);
    for (std::byte* const place : out) copyOn(place + at, result, length * reduction.elementBytes, streaming);
  }
}

}  // namespace

// Two ranks and at most two outputs take a single pass. Otherwise each block is combined into `partial` rank
// by rank, and the last combination writes it to the outputs: directly if there are at most two, else by
// copying. Sums of small floats take a single pass over all ranks.
void combineAll(const Reduction& reduction, const CombineSources& sources, std::span<std::byte* const> out,
                std::size_t n, bool streaming) {
  XYLEM_FAULT_POINT(kWork);
  const std::size_t last = sources.data.size() - 1;
  assert(last >= 1 && !out.empty());
  if (reduction.sumAll != nullptr && (last > 1 || reduction.scales) && last < Reduction::kMaxSummed)
    return sumAll(reduction, sources, out, n, streaming);
  const Reduction::Finish finish = streaming ? reduction.finishStreaming : reduction.finish;
  std::byte* const copy = out.size() > 1 ? out[1] : nullptr;
  if (last == 1 && out.size() <= 2 && !reduction.scales)
    return finish(out[0], copy, sources.data[0], sources.data[1], n, sources.factors[1]);

  alignas(64) std::byte partial[kBlockBytes];
  const std::size_t block = kBlockBytes / reduction.elementBytes;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t length = std::min(block, n - start);
    const std::size_t at = start * reduction.elementBytes;
    const std::byte* sum = sources.data[0] + at;
    if (reduction.scales) {
      reduction.enter(partial, sum, length, sources.factors[0]);
      sum = partial;
    }
    for (std::size_t i = 1; i < last; ++i) {
      reduction.combine(partial, sum, sources.data[i] + at, length, sources.factors[i]);
      sum = partial;
    }
    const std::byte* const own = sources.data[last] + at;
    if (out.size() <= 2) {
      finish(out[0] + at, copy == nullptr ? nullptr : copy + at, sum, own, length, sources.factors[last]);
      continue;
    }
    reduction.finish(partial, nullptr, sum, own, length, sources.factors[last]);
    for (std::byte* const place : out)
      copyOn(place + at, partial, length * reduction.elementBytes, streaming);
  }
}

}  // namespace xylem::collectives
