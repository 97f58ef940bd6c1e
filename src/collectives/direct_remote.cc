#include "collectives/direct_remote.h"

#include <algorithm>
#include <cstring>

#include "collectives/combine_all.h"
#include "core/copying.h"

namespace xylem {
namespace {

// Read, and combined while it is in the cache.
constexpr std::size_t kReduceBytes = std::size_t{128} << 10;
// Between two looks at whether the operation still makes sense.
constexpr std::size_t kFetchBytes = std::size_t{1} << 20;
// Less of a broadcast is fetched before the root could have brought some of it.
constexpr std::size_t kLeastBrought = std::size_t{128} << 10;

StepNote noteOf(std::uint64_t address, std::size_t bytes) {
  return {.region = 1, .bytes = static_cast<std::uint32_t>(bytes), .address = address};
}

}  // namespace

const std::byte* RemoteBuffer::read(std::size_t offset, std::size_t bytes, std::byte* scratch) const {
  if (here != nullptr) return here + offset;
  memory->read(noteOf(address + offset, bytes), scratch);
  return scratch;
}

void RemoteBuffer::copyTo(std::byte* out, std::size_t offset, std::size_t bytes) const {
  if (here == nullptr)
    memory->read(noteOf(address + offset, bytes), out);
  else if (here + offset != out)
    std::memcpy(out, here + offset, bytes);
}

void RemoteBuffer::copyFrom(const std::byte* data, std::size_t offset, std::size_t bytes) const {
  if (here == nullptr)
    memory->write(noteOf(address + offset, bytes), data);
  else
    std::memcpy(here + offset, data, bytes);
}

void DirectRemote::start(const DirectWork& work, int rank, std::span<const RemoteBuffer> inputs,
                         std::span<const RemoteBuffer> outputs, std::span<const Factor> factors) {
  work_ = work;
  rank_ = rank;
  inputs_ = inputs;
  outputs_ = outputs;
  factors_ = factors;
  done_ = 0;
}

bool DirectRemote::piece() {
  if (reduces(work_.kind)) return reducePiece();
  return work_.kind == DirectKind::kBroadcast ? broadcastPiece() : gatherPiece();
}

bool DirectRemote::reducePiece() {
  const std::size_t element = work_.reduction.elementBytes;
  const bool scatters = work_.kind == DirectKind::kReduceScatter;
  const RankShare share = scatters ? RankShare{0, work_.count} : shareOf(work_, ranks(), rank_);
  const std::size_t n = std::min(share.end - share.begin - done_, kReduceBytes / element);
  const std::size_t at = (share.begin + done_) * element;
  const std::size_t from = at + (scatters ? blockOf(rank_) : 0);
  if (n == 0) return true;
  scratch_.resize(inputs_.size() * kReduceBytes);
  sources_.clear();
  for (std::size_t p = 0; p < inputs_.size(); ++p)
    sources_.push_back(static_cast<int>(p) == rank_
                           ? work_.input + from
                           : inputs_[p].read(from, n * element, &scratch_[p * kReduceBytes]));
  const bool toRoot = work_.kind == DirectKind::kReduce;
  std::byte* const out = toRoot && rank_ != work_.root
                             ? &scratch_[static_cast<std::size_t>(rank_) * kReduceBytes]
                             : work_.output + at;
  combineAll(work_.reduction, {sources_, factors_}, {&out, 1}, n, false);
  for (int other = 0; !scatters && other < ranks(); ++other)
    if (other != rank_ && (!toRoot || other == work_.root))
      outputs_[static_cast<std::size_t>(other)].copyFrom(out, at, n * element);
  done_ += n;
  return done_ == share.end - share.begin;
}

// How much of a broadcast the root brings the others, who fetch the rest: so much that all have the same to
// do. A root that has its own copy to make brings nothing.
std::size_t DirectRemote::brought() const {
  const auto root = static_cast<std::size_t>(work_.root);
  const bool inPlace = rank_ == work_.root ? work_.input == work_.output
                                           : inputs_[root].address == outputs_[root].address &&
                                                 inputs_[root].here == outputs_[root].here;
  const bool isLong = work_.count * work_.reduction.elementBytes >= kLeastBrought;
  return inPlace && isLong ? shareOf(work_, ranks(), 0).end : 0;
}

bool DirectRemote::broadcastPiece() {
  const std::size_t element = work_.reduction.elementBytes;
  const bool isRoot = rank_ == work_.root;
  const std::size_t split = brought();
  const std::size_t begin = isRoot ? 0 : split;
  const std::size_t end = isRoot && split > 0 ? split : work_.count;
  const std::size_t n = std::min(end - begin - done_, kFetchBytes / element);
  const std::size_t at = (begin + done_) * element, bytes = n * element;
  if (!isRoot)
    inputs_[static_cast<std::size_t>(work_.root)].copyTo(work_.output + at, at, bytes);
  else if (split == 0)
    copyBytes(work_.output + at, work_.input + at, work_.input == work_.output ? 0 : bytes);
  for (int other = 0; split > 0 && isRoot && other < ranks(); ++other)
    if (other != rank_) outputs_[static_cast<std::size_t>(other)].copyFrom(work_.input + at, at, bytes);
  done_ += n;
  return done_ == end - begin;
}

// Piece by piece of what every rank has, beginning with the next rank, so that not all ask the same one at
// once.
bool DirectRemote::gatherPiece() {
  const std::size_t n = std::min(work_.count - done_, kFetchBytes / work_.reduction.elementBytes);
  const std::size_t at = done_ * work_.reduction.elementBytes, bytes = n * work_.reduction.elementBytes;
  for (int i = 1; i <= ranks(); ++i) {
    const int rank = (rank_ + i) % ranks();
    std::byte* const out = work_.output + blockOf(rank) + at;
    if (rank != rank_)
      inputs_[static_cast<std::size_t>(rank)].copyTo(out, at, bytes);
    else if (work_.input + at != out)
      copyBytes(out, work_.input + at, bytes);
  }
  done_ += n;
  return done_ == work_.count;
}

}  // namespace xylem
