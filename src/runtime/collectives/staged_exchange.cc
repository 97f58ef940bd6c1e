#include "runtime/collectives/staged_exchange.h"

#include <algorithm>

#include "core/copying.h"
#include "runtime/collectives/combine_all.h"

namespace xylem::collectives {
namespace {

// Pieces start at cache lines if buffers do.
constexpr std::size_t kLine = 64;
// A rank reduces this many bytes at a time, and copies the results on while they are in the first-level cache.
constexpr std::size_t kShareBlock = std::size_t{16} << 10;
// Up to kMostInSmallPieces of data that goes one way are cut into four pieces, but of at least leastPiece() and at most
// kMostAtOnce. More data has enough large pieces for one rank to copy in while another one copies out.
constexpr std::size_t kMostInSmallPieces = std::size_t{512} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;
// Each piece costs the transfer of some cache lines, which take as long as to copy some KiB.
constexpr std::size_t leastPiece(std::size_t bytes) {
  constexpr std::size_t kLittle = std::size_t{32} << 10;
  return bytes <= kLittle ? std::size_t{16} << 10 : std::size_t{32} << 10;
}

}  // namespace

void StagedExchange::start(const DirectWork& work, int rank, int ranks) {
  work_ = &work;
  rank_ = rank;
  ranks_ = ranks;
  shares_ = sharesWork(work.function, blockBytes(work), ranks,
                       choices_.mostWhole(ranks, work.reduction.elementBytes));
  sendsBlocks_ = sendsBlocks(work.function);
  reduces_ = reduces(work.function);
  blocks_ = sendsBlocks_ ? static_cast<std::size_t>(std::max(1, ranks - 1)) : 1;
  const std::size_t block = blockBytes(work);
  const bool oneWay = isRooted(work.function) && !shares_ && block <= kMostInSmallPieces;
  const std::size_t most =
      oneWay ? std::min<std::size_t>(choices_.piece, std::clamp(block / 4, leastPiece(block), kMostAtOnce))
             : choices_.piece;
  maxPiece_ = work.count;
  if (block * blocks_ > most) maxPiece_ = most / blocks_ / kLine * kLine / work.reduction.elementBytes;
  staging_ = transport::stagingFor(bytes(maxPiece_) * blocks_, oneWay, choices_.mostInAreas());
  posts_ = collectives::posts(work, rank);
  writes_ = !isBrought(work, rank) || shares_;
  awaited_.clear();
  for (int other = 0; other < ranks; ++other)
    if (takesFrom(work, rank, other) || (shares_ && other != rank)) awaited_.push_back(other);
  staged_.resize(static_cast<std::size_t>(ranks));
  factors_.resize(static_cast<std::size_t>(ranks));
  if (reduces_) std::fill(factors_.begin(), factors_.end(), work.reduction.factor);
  startAgain();
}

RankShare StagedExchange::pieceShare(int rank) const {
  DirectWork piece = *work_;
  piece.count = piece_;
  return shareOf(piece, ranks_, rank);
}

// Each rank leaves out what no other rank reads: its own share, or the block for itself.
void StagedExchange::write(Meeting& meeting) {
  if (!writes()) return;
  std::byte* const staging = meeting.staging();
  const std::size_t piece = bytes(piece_);
  const std::byte* const input = work_->input + pieceAt();
  if (!shares_ && !sendsBlocks_) return copyToCore(staging, input, piece, to_);
  const auto copyTo = [this](std::byte* out, const std::byte* in, std::size_t bytes) {
    if (bytes > 0) copyToCore(out, in, bytes, to_);
  };
  if (shares_) {
    const RankShare own = pieceShare(rank_);
    copyTo(staging, input, bytes(own.begin));
    copyTo(staging + bytes(own.end), input + bytes(own.end), piece - bytes(own.end));
  } else {
    for (int rank = 0; rank < ranks_; ++rank)
      if (rank != rank_) copyTo(staging + stagedBlockAt(rank, rank_), input + blockAt(rank), piece);
  }
}

// Descriptors of ranks that are not awaited may be written just now.
void StagedExchange::finish(Meeting& meeting) {
  if (reduces_)
    for (const int rank : awaited()) {
      const auto r = static_cast<std::size_t>(rank);
      staged_[r] = meeting.stagingOf(rank);
      if (work_->scaled) factors_[r] = factorOf(*work_, meeting.of(rank));
    }
  if (!reduces_) {
    copyPiece(meeting);
  } else if (!shares_) {
    reducePiece();
  } else if (!collecting_) {
    // No rank reads the staging area of the next stage any more: all have left the stages before this one.
    reduceShare(meeting.nextStaging());
    collecting_ = true;
    return;
  } else {
    collectShares();
  }
  collecting_ = false;
  done_ += piece_;
  through_ = done_ == work_->count;
  nextPiece();
}

void StagedExchange::copyPiece(const Meeting& meeting) const {
  if (awaited_.empty()) return;
  const std::size_t piece = bytes(piece_);
  std::byte* const output = work_->output + pieceAt();
  const bool gathers = work_->function != Function::kBroadcast,
             toAll = work_->function == Function::kAlltoAll;
  for (const int rank : awaited_)
    copyFromCore(output + (gathers ? blockAt(rank) : 0),
                 meeting.stagingOf(rank) + (toAll ? stagedBlockAt(rank_, rank) : 0), piece, from(rank));
}

void StagedExchange::reducePiece() {
  if (!needsOutput(*work_, rank_)) return;
  const bool scatters = work_->function == Function::kReduceScatter;
  const std::size_t count = piece_;
  sources_.clear();
  for (int rank = 0; rank < ranks_; ++rank)
    sources_.push_back(rank == rank_ ? work_->input + pieceAt() + (scatters ? blockAt(rank) : 0)
                                     : stagedBy(rank) + (scatters ? stagedBlockAt(rank_, rank) : 0));
  std::byte* const out = work_->output + pieceAt();
  combineAll(work_->reduction, {sources_, factors_}, {&out, 1}, count, streamsResults(*work_, rank_));
}

// Reduces this rank's share into its output and, for the other ranks, into its staging area of the next
// stage.
void StagedExchange::reduceShare(std::byte* nextStaging) {
  const RankShare own = pieceShare(rank_);
  if (own.begin == own.end) return;
  const std::size_t at = bytes(own.begin);
  sources_.clear();
  for (int rank = 0; rank < ranks_; ++rank)
    sources_.push_back((rank == rank_ ? work_->input + pieceAt() : stagedBy(rank)) + at);
  // Other ranks have the lines of the staging area in their caches: string instructions wait less for them than a reduction's
  // stores, which took twice as long for the whole operation from 64 KiB on.
  alignas(kLine) std::byte scratch[kShareBlock];
  std::byte* const output = needsOutput(*work_, rank_) ? work_->output + pieceAt() + at : nullptr;
  const std::size_t count = own.end - own.begin, block = kShareBlock / work_->reduction.elementBytes;
  for (std::size_t start = 0; start < count; start += block) {
    const std::size_t n = std::min(block, count - start);
    std::byte* const out = output == nullptr ? scratch : output + bytes(start);
    combineAll(work_->reduction, {sources_, factors_}, {&out, 1}, n, false);
    copyToCore(nextStaging + at + bytes(start), out, bytes(n), to_);
    for (const std::byte*& source : sources_) source += bytes(n);
  }
}

void StagedExchange::collectShares() const {
  if (!needsOutput(*work_, rank_)) return;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const RankShare share = pieceShare(rank);
    if (share.begin < share.end)
      copyFromCore(work_->output + pieceAt() + bytes(share.begin), stagedBy(rank) + bytes(share.begin),
                   bytes(share.end - share.begin), from(rank));
  }
}

}  // namespace xylem::collectives
