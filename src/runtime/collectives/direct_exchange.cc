#include "runtime/collectives/direct_exchange.h"

#include <algorithm>

#include "core/copying.h"
#include "core/error.h"
#include "core/fault_point.h"
#include "runtime/transport/local/huge_pages.h"

namespace xylem::collectives {
namespace {

// After a buffer could not be mapped, one operation of this many tries to map buffers again, if the
// operations in between do not tell. That is a meeting of all ranks, which costs long operations little.
constexpr std::uint32_t retryInterval(std::size_t bytes) {
  if (bytes < std::size_t{32} << 10) return 64;
  return bytes < std::size_t{128} << 10 ? 16 : bytes < std::size_t{1} << 20 ? 8 : 4;
}
// After the way has changed from reading to staging it is at most every fifth, this many times: that may be a trial, which has four
// operations, or up to twenty (TwoWays).
constexpr std::uint32_t kSoon = 5;
constexpr std::uint32_t kTimesSoon = 5;

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
      now_(std::move(now)),
      admitsReaders_(allCanRead(meeting_)),
      staged_(choices.piece, choices.mostInAreas()),
      mapped_(shared_),
      reading_(shared_),
      streamed_(choices_, now_) {
  others_.assign(static_cast<std::size_t>(meeting_.ranks()), Other(choices_.far != 0));
  asked_ = (rank + 1) % meeting_.ranks();
  chooseHandovers();
  if (choices_.adapt == 0) return;
  DirectWork work;
  const std::size_t kinds = 2 * static_cast<std::size_t>(meeting_.ranks()) + kFunctions;
  for (auto& timed : timed_) timed.resize(kinds);
  told_.resize(kinds * transport::WaysBySize::kSizes);
  touched_.assign(2 * static_cast<std::size_t>(meeting_.ranks()) + 1,
                  transport::TouchedMemory(choices_.cycle));
  for (std::size_t f = 0; f < kFunctions; ++f) {
    work.function = static_cast<Function>(f);
    for (work.root = 0; work.root < (isRooted(work.function) ? meeting_.ranks() : 1); ++work.root)
      for (std::size_t i = 0; i < transport::WaysBySize::kSizes; ++i)
        told_[kindOf(work) * transport::WaysBySize::kSizes + i].reads =
            choices_.readsBlock(transport::WaysBySize::kLeast << i, work.function == Function::kAllReduce);
  }
}

std::size_t DirectExchange::kindOf(const DirectWork& work) const {
  const auto ranks = static_cast<std::size_t>(meeting_.ranks());
  if (!isRooted(work.function)) return 2 * ranks + static_cast<std::size_t>(work.function);
  return (work.function == Function::kReduce ? ranks : 0) + static_cast<std::size_t>(work.root);
}

// A rank that only brings data does not know how long the others take.
int DirectExchange::tellerOf(const DirectWork& work) const {
  if (work.function == Function::kReduce) return work.root;
  return work.function == Function::kBroadcast ? (work.root + 1) % meeting_.ranks() : 0;
}

// The rank whose distance counts for this one. With more than two of them it stands for all.
int DirectExchange::partner() const {
  const int next = (meeting_.rank() + 1) % meeting_.ranks();
  return isRooted(work_.function) && meeting_.rank() != work_.root ? work_.root : next;
}

transport::WaysBySize& DirectExchange::timedWays() {
  const bool isFar = other().distance.isFar();
  std::unique_ptr<transport::WaysBySize>& ways = timed_[isFar][kind_];
  if (ways == nullptr)
    ways = std::make_unique<transport::WaysBySize>(
        [this, isFar](std::uint64_t bytes) {
          return choices_.beginsReadBlock(bytes, work_.function == Function::kAllReduce, isFar);
        },
        isRooted(work_.function) ? transport::Flow::kOneWay : transport::Flow::kBothWays);
  return *ways;
}

// All ranks hear it in the same operation. Every operation that is read lets them hear again. A staged Broadcast or Reduce does not: the
// next of their meetings would come after up to 64 of these. When staging has just begun, it comes soon, as this may be a trial.
void DirectExchange::hear(bool reads) {
  if (told().reads && !reads) told().soon = kTimesSoon;
  told().reads = reads;
  if (reads || told().soon == 0) return;
  --told().soon;
  const std::uint32_t interval = retryInterval(blockBytes(work_));
  told().unasked = interval - std::min(interval, kSoon);
}

void DirectExchange::start(const DirectWork& work) {
  ++starts_;
  work_ = work;
  call_ = postedCall(work);
  isBrought_ = isBrought(work, meeting_.rank());
  alwaysStaged_ =
      isFasterStaged(work.function, blockBytes(work), meeting_.ranks(), oversubscribed_, choices_);
  if (InlineExchange::takes(work, meeting_.ranks(), alwaysStaged_)) return startInline();
  stagedIsPrepared_ = false;
  chooseStreaming();
  suitsRead_ = ReadExchange::suits(work.function, meeting_.ranks());
  beats_ = blockBytes(work) >= kLeastHandedOver;
  mayAdapt_ =
      choices_.adapt != 0 && suitsRead_ && !alwaysStaged_ && transport::WaysBySize::has(blockBytes(work));
  if (mayAdapt_) {
    kind_ = kindOf(work);
    teller_ = tellerOf(work);
  }
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
  const bool reads = !closed_ && !unreadable_;
  adapts_ = mayAdapt_ && reads;  // otherwise there is one way
  counts_ = adapts_ && meeting_.rank() == teller_;
  if (alwaysStaged_) return Way::kStaged;
  mayRead_ = suitsRead_ &&
             (adapts_ ? told().reads
                      : choices_.readsBlock(blockBytes(work_), work_.function == Function::kAllReduce));
  times_ = counts_ && mayHaveTwoWays() && timedWays().times(blockBytes(work_));
  if (times_) begun_ = now_();
  if (!unmappable_ || (mayRead_ && reads)) return Way::kMapped;
  if (!isRooted(work_.function)) return Way::kStaged;
  const std::uint32_t interval = retryInterval(blockBytes(work_));
  bool asks = ++stagedUnasked_ % interval == 0;
  if (adapts_) asks = ++told().unasked % interval == 0 || asks;
  return asks ? Way::kMapped : Way::kStaged;
}

// Work on mapped buffers has one way only. Whether this work's buffers can be mapped is not known yet.
bool DirectExchange::mayHaveTwoWays() { return unmappable_ || timedWays().used(blockBytes(work_)); }

void DirectExchange::begin(Way way) {
  way_ = way;
  tellsNothing_ = false;
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
  if (!counts_ || staged_.staging() != transport::StagingKind::kRing) return;
  transport::TouchedMemory& touched = touched_[std::min(kind_, touched_.size() - 1)];
  if (touched.touch(meeting_.placeInRing(), staged_.stagedBytes())) tellsNothing_ = true;
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
    if (counts_) noteTime();
  } else if (decidesStreaming()) {
    noteStreaming();
  }
  if (beats_) noteDistance();
  return outcome;
}

void DirectExchange::noteTime() {
  std::optional<std::chrono::nanoseconds> time;
  if (times_) time = now_() - begun_;
  if (tellsNothing_) time.reset();
  const auto change = timedWays().took(blockBytes(work_), way_ == Way::kRead, time);
  if (!change) return;
  const auto& timed = timed_[other().distance.isFar()];
  for (const std::unique_ptr<transport::WaysBySize>& ways : timed)
    if (ways != nullptr && ways != timed[kind_] && !change->back) ways->trySoon();
  if (!tell_) return;
  // Each root has times of its own.
  const bool sends = work_.function == Function::kBroadcast;
  tell_(isRooted(work_.function)
            ? fmt::format("{} {} rank {}", name(work_.function), sends ? "from" : "to", work_.root)
            : name(work_.function),
        *change);
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

// Asks one rank after the other how far it is. No two ranks ask the same one in the same operation: the second one might have its line from the
// cache of the first. After much data, the line may have left the caches; staged data comes in pieces, with a line for each.
void DirectExchange::noteDistance() {
  constexpr std::size_t kMuch = std::size_t{1} << 20;
  const bool mayHaveLeft = way_ != Way::kStaged && blockBytes(work_) > kMuch;
  if (mayHaveLeft || !isDue_.isDue(blockBytes(work_))) return;
  const int rank = asked_;
  do asked_ = (asked_ + 1) % meeting_.ranks();
  while (asked_ == meeting_.rank());
  Other& other = others_[static_cast<std::size_t>(rank)];
  if (!other.distance.took(other.beat.load(meeting_.beatOf(rank), now_))) return;
  chooseHandovers();
  for (const std::unique_ptr<transport::WaysBySize>& ways : timed_[other.distance.isFar()])
    if (ways != nullptr) ways->resume();
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
        counts_ = counts_ && !isRooted(work_.function);  // two meetings would count for one
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
  tellsNothing_ = anyPosted(transport::PostedCall::kTellsNothing);
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
  if (adapts_ && !oneWay) flags |= tellNext();
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

// The flag of the rank that decides, about the next operation of this size.
std::uint8_t DirectExchange::tellNext() {
  if (meeting_.rank() != teller_) return 0;
  hear(timedWays().second(blockBytes(work_)));
  return told().reads ? transport::PostedCall::kReadsNext : std::uint8_t{0};
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
  if (adapts_) flags |= tellNext();
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
    if (adapts_ && !isRooted(work_.function)) hearNext(rank, theirs.call);
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
    if (adapts_) hearNext(rank, theirs.call);
  });
}

void DirectExchange::hearNext(int rank, const transport::PostedCall& theirs) {
  if (rank == teller_) hear((theirs.flags & transport::PostedCall::kReadsNext) != 0);
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
