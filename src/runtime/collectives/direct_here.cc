#include "runtime/collectives/direct_here.h"

#include <algorithm>

#include "runtime/collectives/combine_all.h"
#include "core/copying.h"

namespace xylem {
namespace {

// All buffers of an operation together, from which on results are written past the caches.
constexpr std::size_t kStreamingBytes = std::size_t{48} << 20;
// Between two looks at whether the operation still makes sense.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// Pieces of a copy to several places, which stay in the cache in between.
constexpr std::size_t kCopyBlockBytes = std::size_t{16} << 10;

}  // namespace

void DirectHere::start(const DirectWork& work, int rank, std::span<const std::byte* const> inputs,
                       std::span<std::byte* const> outputs, std::span<const Factor> factors) {
  work_ = work;
  rank_ = rank;
  inputs_.assign(inputs.begin(), inputs.end());
  outputs_.assign(outputs.begin(), outputs.end());
  factors_.assign(factors.begin(), factors.end());
  begin_ = 0;
  end_ = work.count;
  const std::size_t ranks = factors.size();
  const std::size_t mine = static_cast<std::size_t>(rank) * blockBytes(work);
  if (work.kind == DirectKind::kReduceScatter) {
    for (const std::byte*& input : inputs_) input += mine;
  } else if (work.kind == DirectKind::kAllGather || work.kind == DirectKind::kAlltoAll) {
    for (std::byte*& output : outputs_) output += mine;
  } else {
    const RankShare share = shareOf(work, static_cast<int>(ranks), rank);
    begin_ = share.begin;
    end_ = share.end;
  }
  streaming_ = (inputBytes(work, ranks) + outputBytes(work, ranks)) * ranks > kStreamingBytes;
}

bool DirectHere::piece() {
  const std::size_t element = work_.reduction.elementBytes;
  const std::size_t n = std::min(end_ - begin_, kPieceBytes / element);
  if (n > 0 && reduces(work_.kind))
    reduce(begin_ * element, n);
  else
    copy(begin_ * element, n * element);
  begin_ += n;
  return begin_ == end_;
}

void DirectHere::reduce(std::size_t at, std::size_t n) {
  sources_.clear();
  places_.clear();
  for (const std::byte* input : inputs_) sources_.push_back(input + at);
  for (std::byte* output : outputs_) places_.push_back(output + at);
  combineAll(work_.reduction, {sources_, factors_}, places_, n, streaming_);
}

// Beginning with the next rank's, so that not all write to the same one at once.
void DirectHere::copy(std::size_t at, std::size_t bytes) const {
  const std::size_t step = work_.kind == DirectKind::kAlltoAll ? blockBytes(work_) : 0;
  for (std::size_t done = 0; done < bytes; done += kCopyBlockBytes) {
    const std::size_t block = std::min(kCopyBlockBytes, bytes - done);
    for (std::size_t i = 1; i <= outputs_.size(); ++i) {
      const std::size_t rank = (static_cast<std::size_t>(rank_) + i) % outputs_.size();
      const std::byte* const from = inputs_.front() + rank * step + at + done;
      std::byte* const to = outputs_[rank] + at + done;
      if (to != from) (streaming_ ? copyBytesStreaming : copyBytes)(to, from, block);
    }
  }
}

}  // namespace xylem
