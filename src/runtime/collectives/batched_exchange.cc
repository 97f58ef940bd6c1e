#include "runtime/collectives/batched_exchange.h"

#include <cstring>

#include "core/copying.h"
#include "core/error.h"
#include "runtime/collectives/combine_all.h"

namespace xylem::collectives {
namespace {

// A longer collective is better split among the ranks.
constexpr std::size_t kMaxBytes = std::size_t{16} << 10;
// After each piece the executor looks whether all ranks are still present.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// A hash that depends on the order of the words. The multiplier is 2^64 divided by the golden ratio.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

// After the buffers of a batch could not be mapped, one batch of this many is tried.
constexpr std::uint64_t kRetryInterval = 64;

// The place of a buffer that is not needed, which all ranks can map.
constexpr transport::BufferPlace kNowhere{transport::BufferPlace::kFirstRegion, 0};

std::byte* mapped(transport::PeerMemory& memory, const transport::BufferPlace& place, std::size_t bytes) {
  if (std::byte* data = memory.at(place, bytes)) return data;
  throw Error(ResultCode::kRemoteError, "another rank said that its buffers can be reached, but they cannot");
}

}  // namespace

bool BatchedExchange::takes(Function function, std::size_t bytes, bool scaled, int ranks) {
  return function != Function::kAlltoAll && !scaled &&
         bytes * static_cast<std::size_t>(gathersOrScatters(function) ? ranks : 1) <= kMaxBytes;
}

bool BatchedExchange::start(int rank, int ranks, std::span<const DirectWork> works) {
  if (++batches_ % kRetryInterval != 0 && unmappable_) return false;
  rank_ = rank;
  works_ = works;
  factors_.resize(static_cast<std::size_t>(ranks));
  signature_ = 0;
  std::size_t bytes = 0;
  for (const DirectWork& work : works_) {
    signature_ =
        mixed(signature_, static_cast<std::uint64_t>(work.function) |
                              static_cast<std::uint64_t>(work.type) << 8 | std::uint64_t{work.op} << 16 |
                              static_cast<std::uint64_t>(static_cast<std::uint32_t>(work.root)) << 32);
    signature_ = mixed(signature_, work.count);
    bytes += blockBytes(work);
  }
  // All blocks in a row are split into equal parts, one per rank. A collective belongs to the rank in whose
  // part it begins.
  const auto firstOf = [&](int of) {
    const std::size_t from = bytes * static_cast<std::size_t>(of) / static_cast<std::size_t>(ranks);
    std::size_t index = 0, before = 0;
    for (; index < works_.size() && before < from; ++index) before += blockBytes(works_[index]);
    return index;
  };
  next_ = firstOf(rank);
  end_ = firstOf(rank + 1);
  return true;
}

void BatchedExchange::post(Meeting& meeting, const BufferReach& reach) const {
  const auto ranks = static_cast<std::size_t>(meeting.ranks());
  auto* const entries = reinterpret_cast<BatchEntry*>(meeting.staging());
  bool mappable = true;
  for (std::size_t i = 0; i < works_.size() && mappable; ++i) {
    const DirectWork& work = works_[i];
    const transport::BufferPlace input =
        needsInput(work, rank_) ? reach.placeOf(work.input, inputBytes(work, ranks)) : kNowhere;
    const transport::BufferPlace output =
        needsOutput(work, rank_) ? reach.placeOf(work.output, outputBytes(work, ranks)) : kNowhere;
    entries[i] = {input.region, output.region, input.address, output.address};
    mappable = reach.isMappable(input) && reach.isMappable(output);
  }
  transport::PostedCall call{.count = works_.size(), .function = kBatchOfCollectives};
  if (mappable) call.flags = transport::PostedCall::kReachable;
  std::memcpy(call.factor.data(), &signature_, sizeof signature_);
  meeting.mine().call = call;
}

bool BatchedExchange::findOthers(Meeting& meeting) {
  unmappable_ = false;
  for (int rank = 0; rank < meeting.ranks() && !unmappable_; ++rank)
    unmappable_ = (meeting.of(rank).call.flags & transport::PostedCall::kReachable) == 0;
  if (unmappable_) return false;
  others_.resize(static_cast<std::size_t>(meeting.ranks()));
  for (int rank = 0; rank < meeting.ranks(); ++rank)
    if (rank != rank_)
      others_[static_cast<std::size_t>(rank)] = {reinterpret_cast<const BatchEntry*>(meeting.stagingOf(rank)),
                                                 &meeting.memoryOf(rank)};
  return true;
}

bool BatchedExchange::piece() {
  for (std::size_t bytes = 0; next_ < end_ && bytes < kPieceBytes; ++next_) {
    perform(works_[next_], next_);
    bytes += blockBytes(works_[next_]);
  }
  return next_ == end_;
}

void BatchedExchange::combine(const DirectWork& work, std::size_t offset, std::span<std::byte* const> out) {
  sources_.clear();
  for (std::size_t rank = 0; rank < inputs_.size(); ++rank) {
    sources_.push_back(inputs_[rank] + offset);
    factors_[rank] = work.reduction.factor;
  }
  combineAll(work.reduction, {sources_, factors_}, out, work.count, false);
}

// Performs one collective for all ranks.
void BatchedExchange::perform(const DirectWork& work, std::size_t index) {
  const std::size_t ranks = others_.size(), bytes = blockBytes(work);
  inputs_.assign(ranks, nullptr);
  outputs_.assign(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    const int rank = static_cast<int>(r);
    const bool mine = rank == rank_;
    const BatchEntry* entry = mine ? nullptr : &others_[r].entries[index];
    if (needsInput(work, rank))
      inputs_[r] =
          mine ? work.input
               : mapped(*others_[r].memory, {entry->inputRegion, entry->input}, inputBytes(work, ranks));
    if (needsOutput(work, rank))
      outputs_[r] =
          mine ? work.output
               : mapped(*others_[r].memory, {entry->outputRegion, entry->output}, outputBytes(work, ranks));
  }
  const auto copy = [bytes](std::byte* out, const std::byte* in) {
    if (out != in) copyBytes(out, in, bytes);
  };
  const auto root = static_cast<std::size_t>(work.root);
  switch (work.function) {
    case Function::kAllReduce:
      return combine(work, 0, outputs_);
    case Function::kReduce:
      return combine(work, 0, {&outputs_[root], 1});
    case Function::kReduceScatter:
      for (std::size_t r = 0; r < ranks; ++r) combine(work, r * bytes, {&outputs_[r], 1});
      return;
    case Function::kBroadcast:
      for (std::byte* output : outputs_) copy(output, inputs_[root]);
      return;
    case Function::kAllGather:
      for (std::byte* output : outputs_)
        for (std::size_t r = 0; r < ranks; ++r) copy(output + r * bytes, inputs_[r]);
      return;
    case Function::kAlltoAll:
    case Function::kSend:
    case Function::kRecv:
      return;  // are in no batch
  }
}

}  // namespace xylem::collectives
