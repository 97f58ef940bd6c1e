#include "runtime/collectives/direct_exchange.h"

#include <algorithm>
#include <cstring>

#include "core/copying.h"
#include "core/error.h"
#include "core/shareable_memory.h"

namespace xylem {
namespace {

// Of so many operations, or batches, one looks again whether buffers are in reach.
constexpr std::uint64_t kLooksAgain = 64;

// In the place of a collective.
constexpr std::uint8_t kBatch = 0xff;

std::string textOf(const Posting& posting) {
  if (posting.collective == kBatch) return fmt::format("a group of {} collectives", posting.count);
  const auto kind = posting.collective;
  return fmt::format("{} of {} {} ({}, root {})",
                     kind < kDirectKinds ? name(static_cast<DirectKind>(kind)) : "?", posting.count,
                     posting.type < kDataTypes ? name(static_cast<DataType>(posting.type)) : "?",
                     posting.op < kReduceOps ? name(static_cast<ReduceOp>(posting.op)) : "?", posting.root);
}

// Of a buffer that is not needed; in everybody's reach.
constexpr BufferPlace kNowhere{BufferPlace::kFirstRegion, 0};

}  // namespace

DirectExchange::DirectExchange(int rank, Board& board, std::vector<DirectPeer> peers, bool reachAll,
                               bool crowded)
    : rank_(rank),
      board_(board),
      peers_(std::move(peers)),
      reachAll_(reachAll),
      crowded_(crowded),
      leftSeen_(peers_.size(), 0),
      rooms_(peers_.size(), nullptr),
      factors_(peers_.size()) {}

void DirectExchange::start(const DirectWork& work) {
  ++starts_;
  work_ = work;
  boardsKnow_ = false;
  alwaysByBoards_ = goesByBoards(work.kind, blockBytes(work), ranks(), crowded_);
  begin(alwaysByBoards_ || staysByBoards());
}

void DirectExchange::startAgain(const std::byte* input, std::byte* output) {
  work_.input = input;
  work_.output = output;
  begin(alwaysByBoards_ || staysByBoards());
}

// Once buffers were out of reach, all ranks go on like that until all say that theirs no longer are; where
// they would not hear each other say so, they look again now and then.
bool DirectExchange::staysByBoards() { return outOfReach_ && (allMeet() || ++unlooked_ % kLooksAgain != 0); }

bool DirectExchange::startBatch(std::span<const DirectWork> works) {
  if (++batches_ % kLooksAgain != 0 && batchOutOfReach_) return false;
  ++starts_;
  batch_.start(rank_, ranks(), works);
  begin(false);
  batched_ = true;
  return true;
}

void DirectExchange::begin(bool byBoards) {
  ++number_;
  batched_ = false;
  byBoards_ = byBoards;
  if (byBoards && boardsKnow_) {
    onBoards_.startAgain();
  } else if (byBoards) {
    onBoards_.start(work_, rank_, ranks());
    if (reduces(work_.kind)) std::fill(factors_.begin(), factors_.end(), work_.reduction.factor);
    boardsKnow_ = true;
  }
  phase_ = Phase::kPost;
  next_ = 0;
  waitsFor_ = -1;
}

DirectExchange::Outcome DirectExchange::step() {
  for (;;) switch (phase_) {
      case Phase::kPost:
        if (posts() && !post()) return Outcome::kWouldBlock;
        if (byBoards_) onBoards_.keepOwn();
        next_ = 0;
        phase_ = Phase::kMeet;
        break;
      case Phase::kMeet:
        if (!meetAll()) return Outcome::kWouldBlock;
        if (batched_) {
          if (batchOutOfReach_ = !reachBatch(); batchOutOfReach_) {
            leave();
            return Outcome::kDeclined;
          }
          phase_ = Phase::kBatchWork;
          break;
        }
        if (byBoards_) {
          if (!alwaysByBoards_ && allMeet() && onBoards_.first()) outOfReach_ = !allReachable();
          finishStage();
          leave();
          if (onBoards_.through()) return Outcome::kDone;
          ++number_;
          next_ = 0;
          phase_ = Phase::kPost;
          return Outcome::kAdvanced;
        }
        if (outOfReach_ = !reachBuffers(); outOfReach_) {
          leave();
          begin(true);
          break;
        }
        here_.start(work_, rank_, inputs_, outputs_, factors_);
        phase_ = Phase::kWork;
        break;
      case Phase::kWork:
      case Phase::kBatchWork:
        if (const Outcome outcome = work(); outcome != Outcome::kDone) return outcome;
        leave();
        next_ = 0;
        phase_ = Phase::kLeave;
        break;
      case Phase::kLeave:
        return othersLeft() ? Outcome::kDone : Outcome::kWouldBlock;
    }
}

// Whether that was all.
bool DirectExchange::worksOn() {
  if (phase_ == Phase::kBatchWork) return batch_.piece(batchOthers_);
  return here_.piece();
}

bool DirectExchange::posts() const { return !byBoards_ || onBoards_.posts(); }

bool DirectExchange::awaits(int rank) const {
  return rank != rank_ && (!byBoards_ || onBoards_.awaits(rank));
}

// Whether the operation whose place this one takes has been left by all.
bool DirectExchange::hasRoom() {
  const std::size_t rooms = batched_    ? roomsOf(batch_.roomBytes())
                            : byBoards_ ? roomsOf(onBoards_.roomBytes())
                                        : kBoardSlots;
  return number_ <= leftByAll_ + rooms || findRoom(number_ - rooms, rooms / 2 - 1);
}

// Looked for not for every single operation, but `more` of them: that line is theirs.
bool DirectExchange::findRoom(std::uint64_t needed, std::uint64_t more) {
  std::uint64_t leftByAll = number_;
  for (; next_ < ranks(); ++next_) {
    const auto p = static_cast<std::size_t>(next_);
    if (next_ == rank_ || leftSeen_[p] >= needed) continue;
    leftSeen_[p] = peers_[p].board->left.load(std::memory_order_acquire);
    if (leftSeen_[p] < needed + more) return blockedBy(next_);
  }
  for (int rank = 0; rank < ranks(); ++rank)
    if (rank != rank_) leftByAll = std::min(leftByAll, leftSeen_[static_cast<std::size_t>(rank)]);
  leftByAll_ = leftByAll;
  return true;
}

void DirectExchange::describe(Posting& posting) const {
  posting.count = work_.count;
  posting.collective = static_cast<std::uint8_t>(work_.kind);
  posting.type = static_cast<std::uint8_t>(work_.type);
  posting.op = work_.op;
  posting.flags = work_.scaled ? Posting::kScaled : 0;
  posting.root = work_.root;
}

bool DirectExchange::post() {
  if (!hasRoom()) return false;
  Posting& posting = board_.slot(number_);
  if (batched_) {
    postBatch(posting);
    return true;
  }
  // The others look at the posting all the time: it is written at once, after all else.
  if (byBoards_ && onBoards_.writes()) {
    std::byte* const room = board_.room(number_, onBoards_.roomBytes());
    distance_.write(onBoards_.roomBytes(), [&](bool isNear) { onBoards_.write(room, isNear); });
  }
  describe(posting);
  posting.factor = work_.reduction.factor.element;
  if (byBoards_) {
    if (!alwaysByBoards_ && onBoards_.first() && buffersAreReachable()) posting.flags |= Posting::kReachable;
  } else {
    posting.buffers.input =
        needsInput(work_, rank_) ? placeOf(work_.input, inputBytes(work_, peers_.size())) : BufferPlace{};
    posting.buffers.output =
        needsOutput(work_, rank_) ? placeOf(work_.output, outputBytes(work_, peers_.size())) : BufferPlace{};
  }
  posting.number.store(number_, std::memory_order_release);
  // Who only brings something is soon back, and the root has read what was there before.
  if (work_.kind == DirectKind::kReduce) prefetchToWrite(&board_.slot(number_ + 1));
  return true;
}

void DirectExchange::postBatch(Posting& posting) {
  auto* const entries = reinterpret_cast<BatchEntry*>(board_.room(number_, batch_.roomBytes()));
  bool reachable = true;
  for (std::size_t i = 0; i < batch_.size() && reachable; ++i) {
    const DirectWork& work = batch_.work(i);
    const BufferPlace input =
        needsInput(work, rank_) ? placeOf(work.input, inputBytes(work, peers_.size())) : kNowhere;
    const BufferPlace output =
        needsOutput(work, rank_) ? placeOf(work.output, outputBytes(work, peers_.size())) : kNowhere;
    entries[i] = {input.region, output.region, input.address, output.address};
    reachable = isReachable(input) && isReachable(output);
  }
  posting.count = batch_.size();
  posting.collective = kBatch;
  posting.type = posting.op = 0;
  posting.flags = reachable ? Posting::kReachable : 0;
  posting.root = 0;
  const std::uint64_t signature = batch_.signature();
  std::memcpy(posting.factor.data(), &signature, sizeof signature);
  posting.number.store(number_, std::memory_order_release);
}

// Whether everybody reaches all buffers.
bool DirectExchange::reachBatch() {
  if (!allReachable()) return false;
  batchOthers_.resize(peers_.size());
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank == rank_) continue;
    const DirectPeer& peer = peers_[static_cast<std::size_t>(rank)];
    batchOthers_[static_cast<std::size_t>(rank)] = {
        reinterpret_cast<const BatchEntry*>(peer.board->room(number_, batch_.roomBytes())), peer.memory};
  }
  return true;
}

BufferPlace DirectExchange::placeOf(const std::byte* data, std::size_t bytes) const {
  if (reachAll_) return {BufferPlace::kAddress, reinterpret_cast<std::uintptr_t>(data)};
  const std::optional<ShareableMemory::Place> place = ShareableMemory::find(data, bytes);
  bool admitted = place.has_value();
  for (int rank = 0; admitted && rank < ranks(); ++rank)
    if (rank != rank_) admitted = peers_[static_cast<std::size_t>(rank)].memory->admit(place->region);
  if (admitted) return {BufferPlace::kFirstRegion + place->region, place->offset};
  return {BufferPlace::kAddress, reinterpret_cast<std::uintptr_t>(data)};
}

bool DirectExchange::meetAll() {
  for (; next_ < ranks(); ++next_) {
    if (!awaits(next_)) continue;
    const auto p = static_cast<std::size_t>(next_);
    const Posting& theirs = peers_[p].board->slot(number_);
    if (theirs.number.load(std::memory_order_acquire) != number_) return blockedBy(next_);
    // Where data goes one way, the next posting may be there already.
    if (isRooted(work_.kind)) __builtin_prefetch(&peers_[p].board->slot(number_ + 1));
    compare(next_, theirs);
    // It has left the operation before the one that it posts.
    leftSeen_[p] = std::max(leftSeen_[p], number_ - 1);
  }
  return true;
}

bool DirectExchange::blockedBy(int rank) {
  waitsFor_ = rank;
  return false;
}

void DirectExchange::compare(int rank, const Posting& theirs) const {
  // What is little is not posted by all.
  Posting called{};
  if (!batched_) describe(called);
  const Posting& mine = batched_ ? postingOf(rank_) : called;
  const auto scales = [](const Posting& posting) { return (posting.flags & Posting::kScaled) != 0; };
  if (theirs.count == mine.count && theirs.root == mine.root && theirs.op == mine.op &&
      theirs.collective == mine.collective && theirs.type == mine.type && scales(theirs) == scales(mine) &&
      (!batched_ || theirs.factor == mine.factor))
    return;
  throw Error(ResultCode::kInvalidUsage, "the ranks called different operations: rank {} {}, rank {} {}",
              rank, textOf(theirs), rank_, textOf(mine));
}

Factor DirectExchange::factorOf(int rank) const {
  Factor factor = work_.reduction.factor;
  if (rank != rank_ && work_.scaled)
    factor.element = peers_[static_cast<std::size_t>(rank)].board->slot(number_).factor;
  return factor;
}

// From the boards. Nobody is in the room of the next stage any more: all have left what was before this one.
void DirectExchange::finishStage() {
  const std::size_t bytes = onBoards_.roomBytes();
  for (int rank = 0; rank < ranks(); ++rank) {
    // Others' postings may be written just now.
    if (!onBoards_.awaits(rank)) continue;
    const auto p = static_cast<std::size_t>(rank);
    rooms_[p] = peers_[p].board->room(number_, bytes);
    if (work_.scaled) factors_[p] = factorOf(rank);
  }
  onBoards_.finish(rooms_, factors_, board_.room(number_ + 1, bytes));
}

bool DirectExchange::buffersAreReachable() const {
  return reachAll_ || (ShareableMemory::find(work_.input, inputBytes(work_, peers_.size())).has_value() &&
                       ShareableMemory::find(work_.output, outputBytes(work_, peers_.size())).has_value());
}

// Whether everybody looks at everybody's posting, even of little data.
bool DirectExchange::allMeet() const { return !isRooted(work_.kind); }

bool DirectExchange::allReachable() const {
  for (int rank = 0; rank < ranks(); ++rank)
    if ((postingOf(rank).flags & Posting::kReachable) == 0) return false;
  return true;
}

bool DirectExchange::isReachable(const BufferPlace& place) const {
  return reachAll_ || place.region != BufferPlace::kAddress;
}

// Finds everybody's buffers, from where this rank's share begins. False if any of them is out of anybody's
// reach.
bool DirectExchange::reachBuffers() {
  for (int rank = 0; rank < ranks(); ++rank) {
    const Posting& posting = postingOf(rank);
    if (needsInput(work_, rank) && !isReachable(posting.buffers.input)) return false;
    if (needsOutput(work_, rank) && !isReachable(posting.buffers.output)) return false;
  }
  inputs_.clear();
  outputs_.clear();
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto p = static_cast<std::size_t>(rank);
    const Posting& posting = postingOf(rank);
    const bool mine = rank == rank_;
    if (needsInput(work_, rank) && (reduces(work_.kind) || sourceOfCopies() == rank))
      inputs_.push_back(mine ? work_.input
                             : peers_[p].memory->at(posting.buffers.input, inputBytes(work_, peers_.size())));
    if (needsOutput(work_, rank) && (work_.kind != DirectKind::kReduceScatter || mine))
      outputs_.push_back(
          mine ? work_.output
               : peers_[p].memory->at(posting.buffers.output, outputBytes(work_, peers_.size())));
    factors_[p] = factorOf(rank);
  }
  return true;
}

// Whose data this rank passes on, where nothing is reduced.
int DirectExchange::sourceOfCopies() const {
  return work_.kind == DirectKind::kBroadcast ? work_.root : rank_;
}

const Posting& DirectExchange::postingOf(int rank) const {
  return rank == rank_ ? board_.slot(number_) : peers_[static_cast<std::size_t>(rank)].board->slot(number_);
}

// A piece of it, in everybody's buffers.
DirectExchange::Outcome DirectExchange::work() {
  const Visit visit(board_);
  if (!othersAreThere()) return Outcome::kWouldBlock;
  return worksOn() ? Outcome::kDone : Outcome::kAdvanced;
}

// Those who are not will say why.
bool DirectExchange::othersAreThere() {
  for (int rank = 0; rank < ranks(); ++rank)
    if (rank != rank_ && peers_[static_cast<std::size_t>(rank)].board->withdrawn()) return blockedBy(rank);
  return true;
}

bool DirectExchange::othersLeft() {
  for (; next_ < ranks(); ++next_) {
    const auto p = static_cast<std::size_t>(next_);
    if (next_ == rank_ || leftSeen_[p] >= number_) continue;
    leftSeen_[p] = peers_[p].board->left.load(std::memory_order_acquire);
    if (leftSeen_[p] < number_) return blockedBy(next_);
  }
  return true;
}

void DirectExchange::leave() { board_.left.store(number_, std::memory_order_release); }

}  // namespace xylem
