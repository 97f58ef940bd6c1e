#include "runtime/collectives/mapped_exchange.h"

#include <algorithm>
#include <optional>

#include "core/copying.h"
#include "core/shareable_memory.h"

namespace xylem::collectives {
namespace {

// The piece of each thread. After each piece the executor looks whether all ranks are still present.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// A copy to more outputs than are served at once goes in blocks, which stay in the cache from one to the next.
constexpr std::size_t kCopyBlockBytes = std::size_t{16} << 10;

}  // namespace

transport::BufferPlace BufferReach::placeOf(const std::byte* data, std::size_t bytes) const {
  if (oneProcess_) return {transport::BufferPlace::kAddress, reinterpret_cast<std::uintptr_t>(data)};
  const std::optional<ShareableMemory::Place> place = ShareableMemory::find(data, bytes);
  bool admitted = place.has_value();
  for (int rank = 0; admitted && rank < meeting_.ranks(); ++rank)
    if (rank != meeting_.rank()) admitted = meeting_.memoryOf(rank).admit(place->region);
  if (admitted) return {transport::BufferPlace::kFirstRegion + place->region, place->offset};
  return {transport::BufferPlace::kAddress, reinterpret_cast<std::uintptr_t>(data)};
}

bool BufferReach::areMappable(const DirectWork& work) const {
  const auto ranks = static_cast<std::size_t>(meeting_.ranks());
  return oneProcess_ || (ShareableMemory::find(work.input, inputBytes(work, ranks)).has_value() &&
                         ShareableMemory::find(work.output, outputBytes(work, ranks)).has_value());
}

void MappedExchange::post(const DirectWork& work, const BufferReach& reach, int rank, int ranks,
                          transport::Descriptor& descriptor) {
  const auto n = static_cast<std::size_t>(ranks);
  descriptor.buffers.input =
      needsInput(work, rank) ? reach.placeOf(work.input, inputBytes(work, n)) : transport::BufferPlace{};
  descriptor.buffers.output =
      needsOutput(work, rank) ? reach.placeOf(work.output, outputBytes(work, n)) : transport::BufferPlace{};
}

bool MappedExchange::start(const DirectWork& work, bool streams, Meeting& meeting, const BufferReach& reach) {
  for (int rank = 0; rank < meeting.ranks(); ++rank) {
    const transport::Descriptor& descriptor = meeting.of(rank);
    if (needsInput(work, rank) && !reach.isMappable(descriptor.buffers.input)) return false;
    if (needsOutput(work, rank) && !reach.isMappable(descriptor.buffers.output)) return false;
  }
  work_ = work;
  rank_ = meeting.rank();
  findBuffers(meeting);
  // AllReduce, Reduce and Broadcast split the block among the ranks. In the others each rank has a block of
  // its own: it reduces its block of all inputs, or copies its input into its block of all outputs.
  begin_ = 0;
  end_ = work.count;
  const std::size_t mine = static_cast<std::size_t>(rank_) * blockBytes(work);
  if (work.function == Function::kReduceScatter) {
    for (const std::byte*& input : inputs_) input += mine;
  } else if (receivesBlocks(work.function)) {
    for (std::byte*& output : outputs_) output += mine;
  } else {
    const RankShare share = shareOf(work, meeting.ranks(), rank_);
    begin_ = share.begin;
    end_ = share.end;
  }
  if (!reduces(work.function)) findCopies();
  mayStream_ = !reduces(work.function) || !writesWhatItReads(inputs_, outputs_);
  streaming_ = streams && mayStream_;
  return true;
}

void MappedExchange::findBuffers(Meeting& meeting) {
  const auto ranks = static_cast<std::size_t>(meeting.ranks());
  // If nothing is reduced, this rank passes on the data of this one.
  const int source = work_.function == Function::kBroadcast ? work_.root : rank_;
  inputs_.clear();
  outputs_.clear();
  factors_.resize(ranks);
  for (int rank = 0; rank < meeting.ranks(); ++rank) {
    const transport::Descriptor& descriptor = meeting.of(rank);
    const bool mine = rank == rank_;
    if (needsInput(work_, rank) && (reduces(work_.function) || rank == source))
      inputs_.push_back(mine ? work_.input
                             : meeting.memoryOf(rank).at(descriptor.buffers.input, inputBytes(work_, ranks)));
    if (needsOutput(work_, rank) && (work_.function != Function::kReduceScatter || mine))
      outputs_.push_back(
          mine ? work_.output
               : meeting.memoryOf(rank).at(descriptor.buffers.output, outputBytes(work_, ranks)));
    factors_[static_cast<std::size_t>(rank)] = factorOf(work_, descriptor);
  }
}

bool writesWhatItReads(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  return std::ranges::any_of(outputs, [inputs](const std::byte* output) {
    return std::ranges::find(inputs, output) != inputs.end();
  });
}

bool MappedExchange::piece() {
  const std::size_t element = work_.reduction.elementBytes;
  const std::size_t n = std::min(end_ - begin_, shared_.threads() * kPieceBytes / element);
  if (n > 0 && reduces(work_.function))
    reduce(begin_ * element, n);
  else
    shared_.stretches(n * element, 1, [this, at = begin_ * element](std::size_t begin, std::size_t end) {
      copy(at + begin, at + end);
    });
  begin_ += n;
  return begin_ == end_;
}

void MappedExchange::reduce(std::size_t at, std::size_t n) {
  sources_.clear();
  out_.clear();
  for (const std::byte* input : inputs_) sources_.push_back(input + at);
  for (std::byte* output : outputs_) out_.push_back(output + at);
  shared_.combine(work_.reduction, {sources_, factors_}, out_, n, streaming_);
}

// Starts with the next rank's output, so that not all ranks write to the same one at once. An output that is the input has its data.
void MappedExchange::findCopies() {
  const std::size_t step = work_.function == Function::kAlltoAll ? blockBytes(work_) : 0;
  copies_.clear();
  for (std::size_t i = 1; i <= outputs_.size(); ++i) {
    const std::size_t rank = (static_cast<std::size_t>(rank_) + i) % outputs_.size();
    const Copy copy{outputs_[rank], inputs_.front() + rank * step};
    if (copy.to != copy.from) copies_.push_back(copy);
  }
}

// Copies the bytes from `begin` to `end` of the block. Past the caches two outputs get each line at once: one after the other, even in blocks,
// they took 1.4 times as long, as the memory was read for the first one and then only written.
void MappedExchange::copy(std::size_t begin, std::size_t end) const {
  const bool oneSource = work_.function != Function::kAlltoAll;
  const std::size_t atOnce = streaming_ && oneSource ? 2 : 1;
  const std::size_t most =
      streaming_ && (!oneSource || copies_.size() <= atOnce) ? end - begin : kCopyBlockBytes;
  for (std::size_t at = begin; at < end; at += most) {
    const std::size_t bytes = std::min(most, end - at);
    for (std::size_t i = 0; i < copies_.size(); i += atOnce) {
      const auto [to, from] = copies_[i];
      if (!streaming_) {
        copyBytes(to + at, from + at, bytes);
      } else {
        std::byte* const second = i + 1 < copies_.size() && oneSource ? copies_[i + 1].to + at : nullptr;
        streamBytes(to + at, second, from + at, bytes);
      }
    }
  }
  if (streaming_) endStreaming();
}

}  // namespace xylem::collectives
