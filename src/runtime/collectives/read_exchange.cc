#include "runtime/collectives/read_exchange.h"

#include <algorithm>
#include <array>

#include "core/copying.h"
#include "core/error.h"
#include "runtime/collectives/combine_all.h"

namespace xylem::collectives {
namespace {

// The piece of each thread. After each piece the executor looks whether all ranks are still present.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
// Data of all other ranks together, which stays in a core's second-level cache between being read and being reduced.
constexpr std::size_t kScratchBytes = std::size_t{256} << 10;
constexpr std::size_t kLine = 64;
// A rank that brings data copies a part of it from this many bytes on: with less, it takes as long as if one rank copies all.
constexpr std::size_t kLeastWritten = std::size_t{16} << 10;
// The scratch memory of a thread: each rank's data may begin anywhere in a line.
constexpr std::size_t scratchStride(int ranks) {
  return kScratchBytes + 2 * kLine * static_cast<std::size_t>(ranks);
}

bool isInPlace(const transport::Descriptor& descriptor) {
  const auto& [input, output] = descriptor.buffers;
  return input.region == output.region && input.address == output.address;
}

}  // namespace

// In a Broadcast all ranks copy the same amount. The other rank of a Reduce takes longer for an element than the root, as it copies the result, too.
std::size_t ReadExchange::writtenBytes(const DirectWork& work, int ranks) {
  const std::size_t element = work.reduction.elementBytes;
  const std::size_t part = work.function == Function::kBroadcast
                               ? work.count / static_cast<std::size_t>(ranks)
                           : work.function == Function::kReduce ? work.count / 8 * 3
                                                                : 0;
  const std::size_t bytes = part / kLine * kLine * element;
  return bytes < kLeastWritten ? 0 : bytes;
}

// Starts with the next rank, so that not all ranks read the same one at once.
void ReadExchange::start(const DirectWork& work, Meeting& meeting) {
  work_ = work;
  rank_ = meeting.rank();
  ranks_ = meeting.ranks();
  parts_.clear();
  part_ = copied_ = 0;
  const std::size_t block = blockBytes(work);
  // A root with an output of its own has as much to copy as the others.
  const std::size_t written = isInPlace(meeting.of(work.root)) ? writtenBytes(work, ranks_) : 0;
  const auto blockOf = [block](int rank) { return static_cast<std::size_t>(rank) * block; };
  reducing_ = reduces(work.function);
  collects_ = work.function == Function::kAllReduce;
  begin_ = 0;
  end_ = work.count;
  if (work.function == Function::kReduce) {
    const std::size_t roots = work.count - writtenBytes(work, ranks_) / work.reduction.elementBytes;
    (rank_ == work.root ? end_ : begin_) = roots;
  }
  if (collects_) {
    const RankShare share = shareOf(work, ranks_, rank_);
    begin_ = share.begin;
    end_ = share.end;
  }
  if (keepsOwn(work, rank_)) parts_.push_back({rank_, Part::kOwn, 0, 0, block});
  for (int ahead = 1; ahead < ranks_; ++ahead) {
    const int rank = (rank_ + ahead) % ranks_;
    if (collects_) {
      const RankShare share = shareOf(work, ranks_, rank);
      const std::size_t at = share.begin * work.reduction.elementBytes;
      parts_.push_back(
          {rank, Part::kOutput, at, at, (share.end - share.begin) * work.reduction.elementBytes});
    } else if (work.function == Function::kBroadcast) {
      const std::size_t read = block - written;
      if (rank == work.root) parts_.push_back({rank, Part::kInput, 0, 0, read});
      if (rank_ == work.root && written > 0) parts_.push_back({rank, Part::kWrite, read, read, written});
    } else if (!reducing_) {
      parts_.push_back({rank, Part::kInput, work.function == Function::kAlltoAll ? blockOf(rank_) : 0,
                        blockOf(rank), block});
    }
  }
  if (!reducing_) return;
  factors_.resize(static_cast<std::size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    factors_[static_cast<std::size_t>(rank)] = factorOf(work, meeting.of(rank));
}

bool ReadExchange::startNextStage() {
  const bool next = reducing_ && collects_;
  reducing_ = false;
  return next;
}

bool ReadExchange::piece(Meeting& meeting) {
  if (reducing_) {
    if (begin_ < end_) reduceNext(meeting);
    return begin_ == end_;
  }
  if (part_ < parts_.size()) copyNext(meeting);
  return part_ == parts_.size();
}

void ReadExchange::copyNext(Meeting& meeting) {
  const Part& part = parts_[part_];
  const std::size_t bytes = std::min(shared_.threads() * kPieceBytes, part.bytes - copied_);
  shared_.stretches(bytes, 1, [&](std::size_t begin, std::size_t end) {
    const std::size_t at = copied_ + begin;
    if (part.kind == Part::kOwn)
      keepOwn(work_, rank_, at, end - begin);
    else if (part.kind == Part::kWrite)
      write(meeting, part.rank, part.to + at, end - begin, work_.input + part.from + at);
    else
      read(meeting, part.rank, part.kind == Part::kOutput, part.from + at, end - begin,
           work_.output + part.to + at);
  });
  copied_ += bytes;
  if (copied_ < part.bytes) return;
  copied_ = 0;
  ++part_;
}

// Reduces the next elements. Each thread takes a part of them, piece by piece through its scratch memory.
void ReadExchange::reduceNext(Meeting& meeting) {
  const std::size_t element = work_.reduction.elementBytes, others = static_cast<std::size_t>(ranks_ - 1);
  const std::size_t most = kScratchBytes / others / kLine * kLine / element;
  std::byte* const scratch = scratch_.get(shared_.threads() * scratchStride(ranks_));
  const bool much = (end_ - begin_) * element * others >= SharedWork::kLeastShared;
  const std::size_t parts = much ? shared_.threads() : 1;
  const std::size_t each = std::max(most, kPieceBytes / others / kLine * kLine / element);
  const std::size_t n = std::min(end_ - begin_, parts * each), perPart = (n + parts - 1) / parts;
  shared_.parts(parts, [&](std::size_t part) {
    const std::size_t end = std::min(n, (part + 1) * perPart);
    for (std::size_t at = part * perPart; at < end; at += most)
      reduceStretch(meeting, begin_ + at, std::min(most, end - at), scratch + part * scratchStride(ranks_));
  });
  begin_ += n;
}

// Reads n elements of all other ranks, from element `begin` of the block on, and reduces them with this one's, in the order of the ranks.
// Each rank's data begins at the same byte of a line in the scratch memory as in its own: a Reduce then takes a tenth to a fifth less time.
void ReadExchange::reduceStretch(Meeting& meeting, std::size_t begin, std::size_t n,
                                 std::byte* scratch) const {
  const std::size_t element = work_.reduction.elementBytes, at = begin * element;
  const std::size_t block =
      work_.function == Function::kReduceScatter ? static_cast<std::size_t>(rank_) * blockBytes(work_) : 0;
  std::array<const std::byte*, SharedWork::kMostBuffers> sources;
  std::byte* brought = nullptr;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::byte*& source = sources[static_cast<std::size_t>(rank)];
    source = work_.input + block + at;
    if (rank == rank_) continue;
    brought = scratch + (meeting.of(rank).buffers.input.address + block + at) % kLine;
    read(meeting, rank, false, block + at, n * element, brought);
    source = brought;
    scratch += (n * element + 2 * kLine - 1) / kLine * kLine;
  }
  const bool isMine = needsOutput(work_, rank_);
  std::byte* const out = isMine ? work_.output + at : brought;
  combineAll(work_.reduction, {std::span(sources).first(static_cast<std::size_t>(ranks_)), factors_},
             {&out, 1}, n, isMine && !collects_ && streamsResults(work_, rank_));
  if (!isMine) write(meeting, work_.root, at, n * element, out);
}

void ReadExchange::read(Meeting& meeting, int rank, bool output, std::size_t at, std::size_t bytes,
                        std::byte* out) const {
  if (bytes == 0) return;
  transport::PeerMemory& memory = meeting.memoryOf(rank);
  const transport::Descriptor& descriptor = meeting.of(rank);
  transport::BufferPlace place = output ? descriptor.buffers.output : descriptor.buffers.input;
  place.address += at;
  // The buffers of some ranks may be mapped though not all are.
  if (const std::byte* const mapped = memory.at(place, bytes))
    return (streamsResults(work_, rank_) && !reducing_ ? copyBytesStreaming : copyBytes)(out, mapped, bytes);
  transport::StepNote note{};
  note.bytes = static_cast<std::uint32_t>(bytes);
  note.address = place.address;
  memory.read(note, out);
}

void ReadExchange::write(Meeting& meeting, int rank, std::size_t at, std::size_t bytes,
                         const std::byte* data) const {
  if (bytes == 0) return;
  transport::PeerMemory& memory = meeting.memoryOf(rank);
  transport::BufferPlace place = meeting.of(rank).buffers.output;
  place.address += at;
  if (std::byte* const mapped = memory.at(place, bytes))
    return (work_.streaming && !reduces(work_.function) ? copyBytesStreaming : copyBytes)(mapped, data,
                                                                                          bytes);
  if (memory.write(place.address, data, bytes)) return;
  throw Error(ResultCode::kRemoteError,
              "the kernel does not let this rank write {} bytes into the memory of rank {}; with "
              "XYLEM_CMA_BYTES=0 data goes through shared memory instead",
              bytes, rank);
}

}  // namespace xylem::collectives
