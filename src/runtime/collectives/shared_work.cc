#include "runtime/collectives/shared_work.h"

#include <array>

namespace xylem::collectives {
void SharedWork::combine(const Reduction& reduction, const CombineSources& sources,
                         std::span<std::byte* const> out, std::size_t n, bool streaming) const {
  const std::size_t ranks = sources.data.size();
  if (helpers_ == nullptr || ranks > kMostBuffers || out.size() > kMostBuffers)
    return combineAll(reduction, sources, out, n, streaming);
  stretches(n, reduction.elementBytes, [&](std::size_t begin, std::size_t end) {
    const std::size_t at = begin * reduction.elementBytes;
    std::array<const std::byte*, kMostBuffers> from;
    std::array<std::byte*, kMostBuffers> to;
    for (std::size_t i = 0; i < ranks; ++i) from[i] = sources.data[i] + at;
    for (std::size_t i = 0; i < out.size(); ++i) to[i] = out[i] + at;
    combineAll(reduction, {std::span(from).first(ranks), sources.factors}, std::span(to).first(out.size()),
               end - begin, streaming);
  });
}

}  // namespace xylem::collectives
