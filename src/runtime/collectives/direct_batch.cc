#include "runtime/collectives/direct_batch.h"

#include "runtime/collectives/combine_all.h"
#include "core/copying.h"
#include "core/error.h"

namespace xylem {
namespace {

// Longer ones are better split over the ranks.
constexpr std::size_t kMostBytes = std::size_t{16} << 10;
// Between two looks at whether the operation still makes sense.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

std::byte* reach(PeerMemory& memory, const BufferPlace& place, std::size_t bytes) {
  if (std::byte* data = memory.at(place, bytes)) return data;
  throw Error(ResultCode::kRemoteError, "another rank said that its buffers can be reached, but they cannot");
}

}  // namespace

bool DirectBatch::takes(DirectKind kind, std::size_t bytes, bool scaled, int ranks) {
  const bool blocks = kind == DirectKind::kAllGather || kind == DirectKind::kReduceScatter;
  return kind != DirectKind::kAlltoAll && !scaled &&
         bytes * static_cast<std::size_t>(blocks ? ranks : 1) <= kMostBytes;
}

void DirectBatch::start(int rank, int ranks, std::span<const DirectWork> works) {
  rank_ = rank;
  works_ = works;
  factors_.resize(static_cast<std::size_t>(ranks));
  signature_ = 0;
  std::size_t bytes = 0;
  for (const DirectWork& work : works_) {
    signature_ =
        mixed(signature_, static_cast<std::uint64_t>(work.kind) | static_cast<std::uint64_t>(work.type) << 8 |
                              std::uint64_t{work.op} << 16 |
                              static_cast<std::uint64_t>(static_cast<std::uint32_t>(work.root)) << 32);
    signature_ = mixed(signature_, work.count);
    bytes += blockBytes(work);
  }
  // Each belongs to the rank in whose equal part of all bytes it begins.
  const auto firstOf = [&](int of) {
    const std::size_t from = bytes * static_cast<std::size_t>(of) / static_cast<std::size_t>(ranks);
    std::size_t index = 0, before = 0;
    for (; index < works_.size() && before < from; ++index) before += blockBytes(works_[index]);
    return index;
  };
  next_ = firstOf(rank);
  end_ = firstOf(rank + 1);
}

bool DirectBatch::piece(std::span<const Other> others) {
  for (std::size_t bytes = 0; next_ < end_ && bytes < kPieceBytes; ++next_) {
    perform(works_[next_], next_, others);
    bytes += blockBytes(works_[next_]);
  }
  return next_ == end_;
}

void DirectBatch::combine(const DirectWork& work, std::size_t offset, std::span<std::byte* const> out) {
  sources_.clear();
  for (std::size_t rank = 0; rank < inputs_.size(); ++rank) {
    sources_.push_back(inputs_[rank] + offset);
    factors_[rank] = work.reduction.factor;
  }
  combineAll(work.reduction, {sources_, factors_}, out, work.count, false);
}

// All of one collective, for all ranks.
void DirectBatch::perform(const DirectWork& work, std::size_t index, std::span<const Other> others) {
  const std::size_t ranks = others.size(), bytes = blockBytes(work);
  inputs_.assign(ranks, nullptr);
  outputs_.assign(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    const int rank = static_cast<int>(r);
    const bool mine = rank == rank_;
    const BatchEntry* entry = mine ? nullptr : &others[r].entries[index];
    if (needsInput(work, rank))
      inputs_[r] =
          mine ? work.input
               : reach(*others[r].memory, {entry->inputRegion, entry->input}, inputBytes(work, ranks));
    if (needsOutput(work, rank))
      outputs_[r] =
          mine ? work.output
               : reach(*others[r].memory, {entry->outputRegion, entry->output}, outputBytes(work, ranks));
  }
  const auto copy = [bytes](std::byte* out, const std::byte* in) {
    if (out != in) copyBytes(out, in, bytes);
  };
  const auto root = static_cast<std::size_t>(work.root);
  switch (work.kind) {
    case DirectKind::kAllReduce:
      return combine(work, 0, outputs_);
    case DirectKind::kReduce:
      return combine(work, 0, {&outputs_[root], 1});
    case DirectKind::kReduceScatter:
      for (std::size_t r = 0; r < ranks; ++r) combine(work, r * bytes, {&outputs_[r], 1});
      return;
    case DirectKind::kBroadcast:
      for (std::byte* output : outputs_) copy(output, inputs_[root]);
      return;
    case DirectKind::kAllGather:
      for (std::byte* output : outputs_)
        for (std::size_t r = 0; r < ranks; ++r) copy(output + r * bytes, inputs_[r]);
      return;
    case DirectKind::kAlltoAll:
      return;  // in no batch
  }
}

}  // namespace xylem
