#include "runtime/collectives/direct_exchange.h"

#include <algorithm>

#include "core/copying.h"
#include "core/error.h"
#include "core/fault_point.h"
#include "runtime/transport/local/huge_pages.h"

namespace xylem::collectives {
namespace {

// Where all ranks bring staged data, holding the first look back pays up to this many bytes.
constexpr std::size_t kLooksLittle = 1024;

std::string textOf(const transport::PostedCall& call) {
  if (call.function == kBatchOfCollectives) return fmt::format("a group of {} collectives", call.count);
  const std::string what = fmt::format(
      "of {} {}", call.count,
      call.type < kDataTypes ? name(static_cast<DataType>(call.type)) : "elements of another type");
  if (call.function >= kFunctions) return "another function " + what;
  const auto function = static_cast<Function>(call.function);
  std::string text = fmt::format("{} {}", name(function), what);
  if (reduces(function))
    text +=
        fmt::format(", {}", call.op < kReduceOps ? name(static_cast<ReduceOp>(call.op)) : "another operator");
  if (isRooted(function)) text += fmt::format(", root {}", call.root);
  return text;
}

bool isSameBatch(const transport::PostedCall& theirs, const transport::PostedCall& mine) {
  return theirs.function == kBatchOfCollectives && theirs.count == mine.count && theirs.factor == mine.factor;
}

bool allCanRead(const Meeting& meeting) {
  for (int rank = 0; rank < meeting.ranks(); ++rank)
    if (rank != meeting.rank() && !meeting.memoryOf(rank).peerReads()) return false;
  return true;
}

}  // namespace

DirectExchange::DirectExchange(int rank, transport::Mailbox& mailbox, std::vector<DirectPeer> peers,
                               bool oneProcess, bool oversubscribed, const transport::CopyChoices& choices,
                               transport::TellChange tell, const SharedWork& shared, Now now)
    : meeting_(rank, mailbox, std::move(peers), choices.cycle),
      reach_(meeting_, oneProcess),
      oversubscribed_(oversubscribed),
      choices_(choices),
      tell_(std::move(tell)),
      shared_(shared),
      admitsReaders_(allCanRead(meeting_)),
      distances_(meeting_, choices_.far != 0, now),
      ways_(meeting_, distances_, choices_, tell_, now),
      staged_(choices),
      mapped_(shared_),
      reading_(shared_),
      streamed_(choices_, std::move(now)) {
  chooseHandovers();
}

void DirectExchange::start(const DirectWork& work) {
  ++starts_;
  work_ = work;
  call_ = postedCall(work);
  isBrought_ = isBrought(work, meeting_.rank());
  alwaysStaged_ = isFasterStaged(work, meeting_.ranks(), oversubscribed_, choices_);
  if (InlineExchange::takes(work, meeting_.ranks(), alwaysStaged_)) return startInline();
  stagedIsPrepared_ = false;
  chooseStreaming();
  beats_ = blockBytes(work) >= kLeastHandedOver;
  ways_.start(work, !alwaysStaged_ && ReadExchange::suits(work.function, meeting_.ranks()));
  begin(chooseWay());
}

void DirectExchange::startInline() {
  way_ = Way::kInline;
  inline_.start(work_, meeting_.rank(), meeting_.ranks());
  look_ = isBrought_                 ? &oneWayLook_
          : isRooted(work_.function) ? nullptr
          : inline_.isInFirstLine()  ? &inlineLook_
                                     : &littleLook_;
  beginInline();
}

void DirectExchange::beginInline() {
  meeting_.next();
  phase_ = Phase::kPost;
}

void DirectExchange::startAgain(const std::byte* input, std::byte* output) {
  work_.input = input;
  work_.output = output;
  if (way_ == Way::kInline) return beginInline();
  if (alwaysStaged_) return beginStaged();  // as start() has chosen for any buffers
  chooseStreaming();
  begin(chooseWay());
}

bool DirectExchange::startBatch(std::span<const DirectWork> works) {
  if (!batched_.start(meeting_.rank(), meeting_.ranks(), works)) return false;
  ++starts_;
  isBrought_ = false;
  begin(Way::kBatched);
  return true;
}

// If a buffer could not be mapped, all ranks stage or read their data until every rank posts that its buffers are
// mappable again; and if one could not be read either, they stage it until all can be read again. If not every rank sees all descriptors of
// this operation, they try again now and then instead. Where data may be read, each operation tries to map first, as it has to say where buffers
// are anyway.
DirectExchange::Way DirectExchange::chooseWay() {
  const bool open = !closed_ && !unreadable_;
  ways_.begin(open);
  if (alwaysStaged_) return Way::kStaged;
  mayRead_ = ways_.reads();
  ways_.beginTime(unmappable_);
  if (!unmappable_ || (mayRead_ && open)) return Way::kMapped;
  return isRooted(work_.function) && ways_.meetsAll() ? Way::kMapped : Way::kStaged;
}

void DirectExchange::begin(Way way) {
  way_ = way;
  if (way == Way::kStaged && !stagedIsPrepared_) {
    staged_.start(work_, meeting_.rank(), meeting_.ranks());
    stagedIsPrepared_ = true;
  }
  look_ = isBrought_ ? &oneWayLook_ : way == Way::kStaged ? lookForStaged() : nullptr;
  way == Way::kStaged ? beginStaged() : nextMeeting();
}

void DirectExchange::beginStaged() {
  staged_.startAgain();
  nextStage();
}

// Marks what the next stage uses of the rings. All ranks write theirs, or, if there is a root, those that bring data.
void DirectExchange::nextStage() {
  meeting_.next(staged_.staging(), staged_.stagedBytes());
  phase_ = Phase::kPost;
  if (beats_) meeting_.beat();
  if (staged_.staging() == transport::StagingKind::kRing)
    ways_.useRing(meeting_.placeInRing(), staged_.stagedBytes());
}

void DirectExchange::nextMeeting() {
  if (way_ == Way::kBatched)
    meeting_.next(batched_.staging(), batched_.stagedBytes());
  else
    meeting_.next();
  phase_ = Phase::kPost;
  if (beats_ && way_ != Way::kBatched) meeting_.beat();
}

// At data that all ranks bring.
FirstLook* DirectExchange::lookForStaged() {
  return !isRooted(work_.function) && blockBytes(work_) <= kLooksLittle ? &littleLook_ : nullptr;
}

DirectExchange::Outcome DirectExchange::stepOther() {
  const Outcome outcome = way_ == Way::kStaged ? stepStaged() : stepMeeting();
  if (outcome != Outcome::kDone || way_ == Way::kBatched) return outcome;
  if (way_ != Way::kMapped) {
    ways_.end(way_ == Way::kRead);
  } else if (decidesStreaming()) {
    noteStreaming();
  }
  if (beats_) noteDistance();
  return outcome;
}

void DirectExchange::chooseStreaming() {
  work_.streaming = !alwaysStaged_ && allBytes(work_, meeting_.ranks()) > choices_.streamExchange;
  tellsToStream_ =
      !alwaysStaged_ && decidesStreaming() && streamed_.choose(work_, meeting_.rank(), meeting_.ranks());
}

void DirectExchange::noteStreaming() {
  const auto change = streamed_.end();
  const std::string_view where = isInPlace(work_, meeting_.rank()) ? " in place" : "";
  if (change && tell_) tell_(fmt::format("results of {}{} in buffers", name(work_.function), where), *change);
}

// After much data, the line by which a rank is timed may have left the caches; staged data comes in pieces, with a line for each.
void DirectExchange::noteDistance() {
  constexpr std::size_t kMuch = std::size_t{1} << 20;
  if (way_ != Way::kStaged && blockBytes(work_) > kMuch) return;
  const std::optional<int> changed = distances_.note(blockBytes(work_));
  if (!changed) return;
  chooseHandovers();
  ways_.resume(isFar(*changed));
}

// A near rank reads in the same way what was written past the caches for a far one.
void DirectExchange::chooseHandovers() {
  bool anyIsFar = false;
  std::vector<Handover> from;
  for (int rank = 0; rank < meeting_.ranks(); ++rank) {
    from.push_back(choices_.handover(isFar(rank)));
    anyIsFar = anyIsFar || (rank != meeting_.rank() && isFar(rank));
  }
  staged_.handOver(choices_.handover(anyIsFar), std::move(from));
}

// kPost -> kMeet. No other rank uses this one's buffers, so the operation is done then.
DirectExchange::Outcome DirectExchange::stepInline() {
  if (phase_ == Phase::kPost) {
    if (inline_.posts()) {
      if (!meeting_.slotIsFree()) return Outcome::kWouldBlock;
      XYLEM_FAULT_POINT(kPost);
      inline_.write(meeting_.mine());
      meeting_.post(call_, 0);
      inline_.fetchToWrite(meeting_.nextMine());
    }
    inline_.keepOwn();
    if (look_ != nullptr) look_->begin(blockBytes(work_));
    meeting_.restart();
    phase_ = Phase::kMeet;
  }
  const bool met = meeting_.meet(inline_.awaited(), [this](int rank, const transport::Descriptor& theirs) {
    // If data goes one way, the next descriptor may be there already.
    if (look_ == &oneWayLook_ && oneWayLook_.othersAreAhead()) inline_.fetchToRead(meeting_.nextOf(rank));
    if (!theirs.call.isSame(call_)) failDifferent(rank, theirs.call, call_);
    inline_.take(rank, theirs);
  });
  if (!met) {
    if (look_ != nullptr) look_->waits();
    return Outcome::kWouldBlock;
  }
  if (look_ != nullptr) look_->arrived();
  inline_.finish();
  isBrought_ ? meeting_.leaveOneWay() : meeting_.leave();
  return Outcome::kDone;
}

// kPost -> kMeet, once per stage.
DirectExchange::Outcome DirectExchange::stepStaged() {
  if (phase_ == Phase::kPost) {
    if (staged_.posts() && !postStaged()) return Outcome::kWouldBlock;
    staged_.keepOwn();
    if (look_ != nullptr) look_->begin(blockBytes(work_));
    meeting_.restart();
    phase_ = Phase::kMeet;
  }
  if (!meetStaged()) {
    if (look_ != nullptr) look_->waits();
    return Outcome::kWouldBlock;
  }
  if (look_ != nullptr) look_->arrived();
  return finishStage();
}

// kPost -> kMeet -> kWork -> kLeave: works on all ranks' buffers, and waits in kLeave until all have left these. An operation that is read posts
// like a mapped one, which shows that it cannot be, and again for each further stage.
DirectExchange::Outcome DirectExchange::stepMeeting() {
  for (;;) switch (phase_) {
      case Phase::kPost:
        if (!meeting_.slotIsFree()) return Outcome::kWouldBlock;
        post();
        if (look_ != nullptr) look_->begin(blockBytes(work_));
        meeting_.restart();
        phase_ = Phase::kMeet;
        break;
      case Phase::kMeet:
        if (!meet()) {
          if (look_ != nullptr) look_->waits();
          return Outcome::kWouldBlock;
        }
        if (look_ != nullptr) look_->arrived();
        phase_ = Phase::kWork;
        if (way_ == Way::kRead) break;
        if (way_ == Way::kBatched) {
          if (batched_.findOthers(meeting_)) break;
          meeting_.leave();
          return Outcome::kDeclined;
        }
        if (findBuffers()) break;
        meeting_.leave();
        if (isRooted(work_.function)) ways_.leaveOut();  // two meetings would count for one
        begin(Way::kStaged);
        return stepStaged();
      case Phase::kWork:
        if (const Outcome outcome = work(); outcome != Outcome::kDone) return outcome;
        meeting_.leave();
        if (way_ == Way::kRead && reading_.startNextStage()) {
          nextMeeting();
          break;
        }
        meeting_.restart();
        phase_ = Phase::kLeave;
        break;
      case Phase::kLeave:
        return meeting_.othersLeft() ? Outcome::kDone : Outcome::kWouldBlock;
    }
}

// Finds the buffers that all ranks have posted. False if the data has to be staged, which all ranks see alike.
bool DirectExchange::findBuffers() {
  const bool streams = (meeting_.of(kDecidesStreaming).call.flags & transport::PostedCall::kStreams) != 0;
  unmappable_ = !mapped_.start(work_, streams, meeting_, reach_);
  if (!unmappable_) {
    if (decidesStreaming()) streamed_.begin(mapped_.mayStream());
    return true;
  }
  closed_ = !allPosted(transport::PostedCall::kAdmitsReaders);
  if (closed_) return false;
  if (saysReadable()) unreadable_ = !allPosted(transport::PostedCall::kReadable);
  if (!mayRead_ || unreadable_) return false;
  ways_.setTellsNothing(anyPosted(transport::PostedCall::kTellsNothing));
  reading_.start(work_, meeting_);
  way_ = Way::kRead;
  return true;
}

// Whether the kernel lets others read the buffers of `work_`.
bool DirectExchange::areReadable() {
  const auto ranks = static_cast<std::size_t>(meeting_.ranks());
  const int rank = meeting_.rank();
  return (!needsInput(work_, rank) || ownMemory_.holds(work_.input, inputBytes(work_, ranks))) &&
         (!needsOutput(work_, rank) || ownMemory_.holds(work_.output, outputBytes(work_, ranks)));
}

// The others read what this rank brings, and of an AllReduce its share of the results; they may write a part of what is brought to this rank.
bool DirectExchange::makeHuge() {
  if (choices_.hugePages == 0 || reach_.areMappable(work_)) return false;
  const auto ranks = static_cast<std::size_t>(meeting_.ranks());
  const int rank = meeting_.rank();
  bool tookLong = false;
  const auto othersUse = [&](const std::byte* data, std::size_t bytes) {
    tookLong |= transport::HugePages::ofProcess().othersWillUse(data, bytes);
  };
  const std::size_t written = ReadExchange::writtenBytes(work_, meeting_.ranks());
  const std::size_t kept = blockBytes(work_) - written;
  if (isBrought_) othersUse(work_.output + kept, written);
  if (isBrought_ && work_.function == Function::kReduce)
    othersUse(work_.input + kept, written);
  else if (needsInput(work_, rank))
    othersUse(work_.input, inputBytes(work_, ranks));
  if (work_.function == Function::kAllReduce && work_.output != work_.input) {
    const RankShare share = shareOf(work_, meeting_.ranks(), rank);
    const std::size_t element = work_.reduction.elementBytes;
    othersUse(work_.output + share.begin * element, (share.end - share.begin) * element);
  }
  return tookLong;
}

// Posts this rank's part of a stage. False if its slot is not free yet.
bool DirectExchange::postStaged() {
  if (!meeting_.slotIsFree()) return false;
  XYLEM_FAULT_POINT(kPost);
  staged_.write(meeting_);
  const bool oneWay = isRooted(work_.function);
  std::uint8_t flags = 0;
  if (!alwaysStaged_ && !oneWay && staged_.isFirstStage()) flags = buffersNow();
  if (!oneWay) flags |= ways_.tellNext();
  meeting_.post(call_, flags);
  // The others have read what was in the slot of the next meeting, so this rank fetches its lines before it writes them. Not if data is to
  // be written before the descriptor, and others come at the same time: a rank that looks meanwhile takes its line away again.
  if (oneWay) {
    prefetchToWrite(&meeting_.nextMine());
    staged_.fetchNextToWrite(meeting_);
  }
  return true;
}

// The flags of a rank that stages data, about its buffers.
std::uint8_t DirectExchange::buffersNow() {
  std::uint8_t flags = 0;
  if (reach_.areMappable(work_)) flags |= transport::PostedCall::kReachable;
  if (unreadable_ && areReadable()) flags |= transport::PostedCall::kReadable;
  return flags;
}

// Posts this rank's part of a meeting for which no data is staged.
void DirectExchange::post() {
  XYLEM_FAULT_POINT(kPost);
  if (way_ == Way::kBatched) {
    batched_.post(meeting_, reach_);
    return meeting_.publish();
  }
  MappedExchange::post(work_, reach_, meeting_.rank(), meeting_.ranks(), meeting_.mine());
  std::uint8_t flags = 0;
  if (tellsToStream_) flags |= transport::PostedCall::kStreams;
  if (admitsReaders_) flags |= transport::PostedCall::kAdmitsReaders;
  if (saysReadable() && areReadable()) flags |= transport::PostedCall::kReadable;
  if (mayRead_ && way_ == Way::kMapped && makeHuge()) flags |= transport::PostedCall::kTellsNothing;
  flags |= ways_.tellNext();
  meeting_.post(call_, flags);
  prefetchToWrite(&meeting_.nextMine());
}

bool DirectExchange::meetStaged() {
  return meeting_.meet(staged_.awaited(), [this](int rank, const transport::Descriptor& theirs) {
    // If data goes one way, the next descriptor may be there already.
    if (isRooted(work_.function) && oneWayLook_.othersAreAhead()) {
      prefetchToRead(&meeting_.nextOf(rank));
      staged_.fetchNextOf(rank, meeting_);
    }
    if (!theirs.call.isSame(call_)) failDifferent(rank, theirs.call, call_);
    if (!isRooted(work_.function)) ways_.hear(rank, theirs.call.flags);
  });
}

bool DirectExchange::meet() {
  return meeting_.meet(meeting_.others(), [this](int rank, const transport::Descriptor& theirs) {
    if (way_ == Way::kBatched) {
      const transport::PostedCall& mine = meeting_.of(meeting_.rank()).call;
      if (!isSameBatch(theirs.call, mine)) failDifferent(rank, theirs.call, mine);
      return;
    }
    if (isRooted(work_.function) && oneWayLook_.othersAreAhead()) prefetchToRead(&meeting_.nextOf(rank));
    if (!theirs.call.isSame(call_)) failDifferent(rank, theirs.call, call_);
    ways_.hear(rank, theirs.call.flags);
  });
}

void DirectExchange::failDifferent(int rank, const transport::PostedCall& theirs,
                                   const transport::PostedCall& mine) const {
  throw Error(ResultCode::kInvalidUsage, "the ranks called different operations: rank {} {}, rank {} {}",
              rank, textOf(theirs), meeting_.rank(), textOf(mine));
}

bool DirectExchange::anyPosted(std::uint8_t flag) const {
  for (int rank = 0; rank < meeting_.ranks(); ++rank)
    if ((meeting_.of(rank).call.flags & flag) != 0) return true;
  return false;
}

bool DirectExchange::allPosted(std::uint8_t flag) const {
  for (int rank = 0; rank < meeting_.ranks(); ++rank)
    if ((meeting_.of(rank).call.flags & flag) == 0) return false;
  return true;
}

DirectExchange::Outcome DirectExchange::finishStage() {
  if (!alwaysStaged_ && !isRooted(work_.function) && staged_.isFirstStage()) {
    unmappable_ = !allPosted(transport::PostedCall::kReachable);
    if (unreadable_) unreadable_ = !allPosted(transport::PostedCall::kReadable);
  }
  staged_.finish(meeting_);
  isBrought_ ? meeting_.leaveOneWay() : meeting_.leave();
  if (staged_.done()) return Outcome::kDone;
  nextStage();
  return Outcome::kAdvanced;
}

// Does the next piece on all ranks' buffers.
DirectExchange::Outcome DirectExchange::work() {
  const transport::Visit visit(meeting_.mailbox());
  if (!meeting_.othersArePresent()) return Outcome::kWouldBlock;
  const bool last = way_ == Way::kBatched ? batched_.piece()
                    : way_ == Way::kRead  ? reading_.piece(meeting_)
                                          : mapped_.piece();
  if (!last) return Outcome::kAdvanced;
  // A rank that gives up waits for the others' visits, but not for ever: only the buffers of ranks that are still present held
  // what was read.
  return meeting_.othersArePresent() ? Outcome::kDone : Outcome::kWouldBlock;
}

}  // namespace xylem::collectives
