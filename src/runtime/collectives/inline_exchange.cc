#include "runtime/collectives/inline_exchange.h"

#include "runtime/collectives/combine_all.h"

namespace xylem::collectives {

void InlineExchange::start(const DirectWork& work, int rank, int ranks) {
  work_ = &work;
  rank_ = rank;
  ranks_ = ranks;
  bytes_ = blockBytes(work);
  brought_ = broughtBytes(work, ranks);
  isOneWay_ = isRooted(work.function);
  sends_ = sendsBlocks(work.function);
  gathers_ = receivesBlocks(work.function);
  reduces_ = reduces(work.function) && needsOutput(work, rank);
  keeps_ = !reduces(work.function) && needsInput(work, rank);
  posts_ = collectives::posts(work, rank);
  writes_ = isBrought(work, rank) ? Writes::kNothing : sends_ ? Writes::kBlocks : Writes::kInput;
  awaited_.clear();
  for (int other = 0; other < ranks; ++other)
    if (takesFrom(work, rank, other)) awaited_.push_back(other);
  if (!reduces_) return;
  sources_.resize(static_cast<std::size_t>(ranks));
  factors_.assign(static_cast<std::size_t>(ranks), work.reduction.factor);
}

void InlineExchange::writeBlocks(transport::Descriptor& mine) const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != rank_) copyLittle(mine.data + blockFor(rank, rank_), work_->input + blockAt(rank), bytes_);
}

void InlineExchange::copyOwn() const {
  if (!isInPlace(*work_, rank_)) copyLittle(ownOutput(*work_, rank_), ownInput(*work_, rank_), bytes_);
}

// In the order of the ranks.
void InlineExchange::reduce() {
  sources_[static_cast<std::size_t>(rank_)] = ownInput(*work_, rank_);
  std::byte* const out = work_->output;
  combineAll(work_->reduction, {sources_, factors_}, {&out, 1}, work_->count, false);
}

}  // namespace xylem::collectives
