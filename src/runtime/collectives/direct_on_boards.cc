#include "runtime/collectives/direct_on_boards.h"

#include <algorithm>

#include "runtime/collectives/combine_all.h"
#include "core/copying.h"
#include "runtime/transport/local/board.h"

namespace xylem {
namespace {

// Pieces begin with cache lines, where buffers do.
constexpr std::size_t kLine = 64;

}  // namespace

void DirectOnBoards::start(const DirectWork& work, int rank, int ranks) {
  work_ = &work;
  rank_ = rank;
  ranks_ = ranks;
  shares_ = sharesWork(work.kind, blockBytes(work), ranks);
  const std::size_t blocks = postsBlocks(work.kind) ? static_cast<std::size_t>(std::max(1, ranks - 1)) : 1;
  mostPiece_ = work.count;
  if (blockBytes(work) * blocks > kLargeRoomBytes)
    mostPiece_ = kLargeRoomBytes / blocks / kLine * kLine / work.reduction.elementBytes;
  roomBytes_ = bytes(mostPiece_) * blocks;
  startAgain();
}

std::size_t DirectOnBoards::pieceCount() const { return std::min(mostPiece_, work_->count - done_); }

RankShare DirectOnBoards::pieceShare(int rank) const {
  DirectWork piece = *work_;
  piece.count = pieceCount();
  return shareOf(piece, ranks_, rank);
}

void DirectOnBoards::write(std::byte* room, bool isNear) const {
  const auto copyTo = [isNear](std::byte* out, const std::byte* in, std::size_t bytes) {
    if (bytes > 0) copyToCore(out, in, bytes, isNear);
  };
  const std::size_t piece = bytes(pieceCount());
  const std::byte* const input = work_->input + pieceAt();
  if (shares_) {
    const RankShare own = pieceShare(rank_);
    copyTo(room, input, bytes(own.begin));
    copyTo(room + bytes(own.end), input + bytes(own.end), piece - bytes(own.end));
  } else if (postsBlocks(work_->kind)) {
    for (int rank = 0; rank < ranks_; ++rank)
      if (rank != rank_) copyTo(room + roomOf(rank, rank_), input + blockAt(rank), piece);
  } else {
    copyTo(room, input, piece);
  }
}

void DirectOnBoards::keepOwn() const {
  if (reduces(work_->kind) || (work_->kind == DirectKind::kBroadcast && rank_ != work_->root)) return;
  const std::byte* const input =
      work_->input + pieceAt() + (work_->kind == DirectKind::kAlltoAll ? blockAt(rank_) : 0);
  std::byte* const output =
      work_->output + pieceAt() + (work_->kind == DirectKind::kBroadcast ? 0 : blockAt(rank_));
  if (output != input) copyBytes(output, input, bytes(pieceCount()));
}

void DirectOnBoards::finish(std::span<const std::byte* const> rooms, std::span<const Factor> factors,
                            std::byte* next) {
  if (!reduces(work_->kind)) {
    copyPiece(rooms);
  } else if (!shares_) {
    reducePiece(rooms, factors);
  } else if (!collecting_) {
    reduceShare(rooms, factors, next);
    collecting_ = true;
    return;
  } else {
    collectShares(rooms);
  }
  collecting_ = false;
  done_ += pieceCount();
  through_ = done_ == work_->count;
}

void DirectOnBoards::copyPiece(std::span<const std::byte* const> rooms) const {
  const std::size_t piece = bytes(pieceCount());
  std::byte* const output = work_->output + pieceAt();
  if (work_->kind == DirectKind::kBroadcast) {
    if (awaits(work_->root)) copyBytes(output, rooms[static_cast<std::size_t>(work_->root)], piece);
    return;
  }
  const bool toAll = work_->kind == DirectKind::kAlltoAll;
  for (int rank = 0; rank < ranks_; ++rank)
    if (awaits(rank))
      copyBytes(output + blockAt(rank),
                rooms[static_cast<std::size_t>(rank)] + (toAll ? roomOf(rank_, rank) : 0), piece);
}

void DirectOnBoards::reducePiece(std::span<const std::byte* const> rooms, std::span<const Factor> factors) {
  if (!needsOutput(*work_, rank_)) return;
  const bool scatters = work_->kind == DirectKind::kReduceScatter;
  const std::size_t count = pieceCount();
  sources_.clear();
  for (int rank = 0; rank < ranks_; ++rank)
    sources_.push_back(rank == rank_
                           ? work_->input + pieceAt() + (scatters ? blockAt(rank) : 0)
                           : rooms[static_cast<std::size_t>(rank)] + (scatters ? roomOf(rank_, rank) : 0));
  std::byte* const out = work_->output + pieceAt();
  combineAll(work_->reduction, {sources_, factors}, {&out, 1}, count, false);
}

// To where it belongs, and, for the others, into the room of the next stage.
void DirectOnBoards::reduceShare(std::span<const std::byte* const> rooms, std::span<const Factor> factors,
                                 std::byte* next) {
  const RankShare own = pieceShare(rank_);
  if (own.begin == own.end) return;
  const std::size_t at = bytes(own.begin);
  sources_.clear();
  for (int rank = 0; rank < ranks_; ++rank)
    sources_.push_back((rank == rank_ ? work_->input + pieceAt() : rooms[static_cast<std::size_t>(rank)]) +
                       at);
  const bool keeps = needsOutput(*work_, rank_);
  std::byte* const places[] = {next + at, keeps ? work_->output + pieceAt() + at : nullptr};
  combineAll(work_->reduction, {sources_, factors}, {places, keeps ? 2U : 1U}, own.end - own.begin, false);
}

void DirectOnBoards::collectShares(std::span<const std::byte* const> rooms) const {
  if (!needsOutput(*work_, rank_)) return;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const RankShare share = pieceShare(rank);
    copyBytes(work_->output + pieceAt() + bytes(share.begin),
              rooms[static_cast<std::size_t>(rank)] + bytes(share.begin), bytes(share.end - share.begin));
  }
}

}  // namespace xylem
