#include "runtime/comm/issue/launch.h"

#include <cstring>

#include "runtime/comm/issue/launches.h"
#include "runtime/comm/issue/work_profile.h"
#include "runtime/device/scheduler.h"
#include "runtime/transport/collnet/coll_network.h"

namespace xylem {
namespace {

std::string nameOf(int peer) {
  return peer == kReducingNetwork ? "the network" : fmt::format("rank {}", peer);
}

// So long nothing may go on before peers are suspected of being stopped.
constexpr std::chrono::milliseconds kPause{100};

// Before time is out peers are asked whether they are at work; and so much longer those wait whose peer is.
constexpr std::chrono::seconds kAnswersNeed{1};
constexpr std::chrono::seconds kOthersKnowWithin{2};

constexpr int kNobody = -1;  // in particular

}  // namespace

void Launch::begin(std::uint64_t number) {
  number_ = number;
  usedTracks_ = 0;
  trackOfChannel_.clear();
  trackOfTransfer_.clear();
  open_.clear();
  usedFences_ = 0;
  awaitedFences_.store(0, std::memory_order_relaxed);
  over_.store(false, std::memory_order_relaxed);
  users_.store(1, std::memory_order_relaxed);
  begun_ = stalled_ = sawPeerEnd_ = warned_ = false;
  collectives_.clear();
  comparing_ = false;
  compared_ = true;
  news_.reset();
  flight_.begin(launches_.recorder());
}

int Launch::newTrack() {
  if (usedTracks_ == tracks_.size()) tracks_.push_back(std::make_unique<Track>());
  Track& track = *tracks_[usedTracks_];
  track.used = track.current = track.usedBatch = 0;
  track.started = false;
  open_.push_back(&track);
  return static_cast<int>(usedTracks_++);
}

int Launch::keptTrack(std::vector<int>& tracks, std::size_t key) {
  if (tracks.size() <= key) tracks.resize(key + 1, -1);
  if (tracks[key] < 0) tracks[key] = newTrack();
  return tracks[key];
}

Work& Launch::add(int index) {
  Track& track = *tracks_[static_cast<std::size_t>(index)];
  if (track.used == track.works.size()) track.works.emplace_back();
  Work& work = track.works[track.used++];
  work.lanes = 1;
  work.scratchBytes = 0;
  work.scalarAddress = nullptr;
  work.boards = nullptr;
  work.batched = 0;
  work.checked = false;
  work.event = nullptr;
  return work;
}

DirectWork& Launch::addToBatch(int index) {
  Track& track = *tracks_[static_cast<std::size_t>(index)];
  if (track.usedBatch == track.batch.size()) track.batch.emplace_back();
  return track.batch[track.usedBatch++];
}

void Launch::adopt(const Flight& flight) {
  flight_ = flight;
  tracks_.front()->started = true;
}

void Launch::adopt(const Flight& flight, std::span<const Transfer> transfers) {
  flight_ = flight;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    tracks_[i]->transfer = transfers[i];
    tracks_[i]->started = true;
  }
}

void Launch::fence(Stream& stream) {
  const auto index = static_cast<std::size_t>(usedFences_++);
  if (index == fences_.size()) fences_.push_back(std::make_unique<Fence>(*this));
  fences_[index]->arrived_ = false;
  awaitedFences_.fetch_add(1, std::memory_order_relaxed);
  users_.fetch_add(1, std::memory_order_relaxed);
  Scheduler::instance().enqueue(stream, *fences_[index]);
}

Progress Launch::Fence::step() {
  if (!arrived_) {
    arrived_ = true;
    launch_.awaitedFences_.fetch_sub(1, std::memory_order_release);
  }
  return launch_.over_.load(std::memory_order_acquire) ? Progress::kDone : Progress::kWouldBlock;
}

Progress Launch::step() {
  if (!begun_) {
    begun_ = true;
    launches_.noteBegun();
  }
  launches_.throwIfFailed();
  if (!launches_.isTurn(number_) || awaitedFences_.load(std::memory_order_acquire) != 0)
    return Progress::kWouldBlock;
  flight_.start();
  bool advanced = false;
  if (!compared_) compareCalls(advanced);
  for (std::size_t i = 0; i < open_.size();) {
    if (stepTrack(*open_[i], advanced)) {
      open_[i] = open_.back();
      open_.pop_back();
    } else {
      ++i;
    }
  }
  if (open_.empty() && compared_) return Progress::kDone;
  if (!advanced) return Progress::kWouldBlock;
  stalled_ = sawPeerEnd_ = false;
  flight_.goOn();
  return Progress::kAdvanced;
}

bool Launch::stepTrack(Track& track, bool& advanced) {
  while (track.current < track.used) {
    if (!track.started && !startWork(track)) return false;
    const Work& work = track.works[track.current];
    const bool through = isPointToPoint(work.function) ? stepTransfer(track, advanced)
                         : work.boards != nullptr      ? stepExchange(track, advanced)
                                                       : stepLanes(track, advanced);
    if (!through) return false;
    if (work.event != nullptr) noteEnd(work);
    ++track.current;
    track.started = false;
  }
  return true;
}

bool Launch::stepExchange(Track& track, bool& advanced) {
  const Work& work = track.works[track.current];
  for (;;) switch (work.boards->exchange().step()) {
      case DirectExchange::Outcome::kDone:
        advanced = true;
        if (work.batched == 0 || track.atOnce || track.inBatch == work.firstOfBatch + work.batched)
          return true;
        startNextOfBatch(track);
        break;
      case DirectExchange::Outcome::kAdvanced:
        advanced = true;
        return false;
      case DirectExchange::Outcome::kWouldBlock:
        return false;
      case DirectExchange::Outcome::kDeclined:
        track.atOnce = false;
        startNextOfBatch(track);
        break;
    }
}

void Launch::startNextOfBatch(Track& track) {
  track.works[track.current].boards->exchange().start(track.batch[track.inBatch++]);
}

bool Launch::stepTransfer(Track& track, bool& advanced) {
  const Progress progress = track.transfer.step();
  advanced = advanced || progress != Progress::kWouldBlock;
  return progress == Progress::kDone;
}

bool Launch::stepLanes(Track& track, bool& advanced) {
  const Work& work = track.works[track.current];
  bool through = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.lanes); ++i) {
    if (track.done[i]) continue;
    const Progress progress = track.lanes[i].step();
    advanced = advanced || progress != Progress::kWouldBlock;
    track.done[i] = progress == Progress::kDone;
    through = through && track.done[i];
  }
  return through;
}

bool Launch::startWork(Track& track) {
  Work& work = track.works[track.current];
  if (isPointToPoint(work.function)) return startTransfer(track);
  if (!compared_) return false;
  return work.boards == nullptr ? startLanes(track) : startExchange(track);
}

bool Launch::startExchange(Track& track) {
  Work& work = track.works[track.current];
  if (!work.boards->advance()) return false;
  if (work.batched > 0) {
    track.inBatch = work.firstOfBatch;
    track.atOnce = work.boards->exchange().startBatch({&track.batch[work.firstOfBatch], work.batched});
    if (!track.atOnce) startNextOfBatch(track);
    return track.started = true;
  }
  if (work.scalarAddress != nullptr)
    std::memcpy(work.exchange.reduction.factor.element.data(), work.scalarAddress, work.scalarBytes);
  work.boards->exchange().start(work.exchange);
  return track.started = true;
}

bool Launch::startTransfer(Track& track) {
  const Work& work = track.works[track.current];
  const TransferPart& part = work.transfer;
  if (part.connection != nullptr && !part.connection->advance()) return false;
  const TransferWork connected = part.connected();
  if (work.checked && !tellCall(track, work, connected)) return false;
  if (work.event != nullptr) noteStart(work);
  track.transfer.start(connected);
  return track.started = true;
}

bool Launch::startLanes(Track& track) {
  Work& work = track.works[track.current];
  if (work.event != nullptr) noteStart(work);
  if (track.scratch.size() < work.scratchBytes) track.scratch.resize(work.scratchBytes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.lanes); ++i) {
    LaneWork& lane = work.lane[i];
    lane.buffers.scratch = track.scratch.data();
    if (work.scalarAddress != nullptr)
      std::memcpy(lane.reduction.factor.element.data(), work.scalarAddress, work.scalarBytes);
    track.lanes[i].start(lane);
    track.done[i] = false;
  }
  return track.started = true;
}

void Launch::noteStart(const Work& work) {
  if (ProfiledQueues* queues = launches_.profiled()) profileStart(*queues, work);
}

void Launch::noteEnd(const Work& work) {
  if (ProfiledQueues* queues = launches_.profiled()) profileEnd(*queues, work);
}

int Launch::waitsFor(const Track& track) const {
  const Work& work = track.works[track.current];
  if (work.boards != nullptr)
    return track.started ? work.boards->exchange().waitsFor() : work.boards->waitsFor();
  if (isPointToPoint(work.function))
    return work.transfer.connection == nullptr ? -1 : work.transfer.connection->peer();
  if (!track.started) return -1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.lanes); ++i)
    if (!track.done[i]) return track.lanes[i].waitsFor();
  return -1;
}

void Launch::checkStall() {
  if (!launches_.isTurn(number_) || awaitedFences_.load(std::memory_order_acquire) != 0) return;
  if (!stalled_) {
    stalled_ = true;
    asked_ = false;
    stallStart_ = Clock::now();
  }
  lookAtPeers();
  bool end = !compared_ && awaitCalls();
  bool waits = !compared_;
  for (const Track* track : open_) {
    const int peer = waitsFor(*track);
    if (peer == kNobody) continue;
    if (!waits) flight_.wait(peer == kReducingNetwork ? kNobody : peer, FlightWait::kData);
    waits = true;
    const char* what = name(track->works[track->current].function);
    std::string how;
    if (launches_.watch().gone(peer, how)) {
      // It may have finished its part, which is then in the queues: look at them once more first.
      if (sawPeerEnd_)
        throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} waits for it in {}", peer,
                    how, launches_.rank(), what);
      end = true;
    }
    checkPatience(*track, peer);
    // A collective needs all ranks, whomever this one waits for.
    if (Clock::now() - stallStart_ > kPause)
      launches_.stopped().look(
          isPointToPoint(track->works[track->current].function) ? peer : StoppedPeers::kAll, what);
  }
  sawPeerEnd_ = end;
}

void Launch::checkPatience(const Track& track, int peer) {
  const Patience& patience = launches_.patience();
  const Clock::duration waited = Clock::now() - stallStart_;
  if (patience.fails && !asked_ && waited >= patience.span - kAnswersNeed) {
    asked_ = true;
    launches_.watch().ask();
  }
  if (waited < patience.span) return;
  if (!patience.fails && warned_) return;
  const char* what = name(track.works[track.current].function);
  if (patience.fails) return endWaiting(peer, what, waited);
  launches_.log().warn("{} : rank {} has waited {} s for {}, which is alive{}", what, launches_.rank(),
                       patience.span.count(), nameOf(peer), launches_.stopped().remark());
  warned_ = true;
}

// Time is out. If the peer is at work, somebody nearer to who is not will say so in a moment.
void Launch::endWaiting(int peer, const char* what, Clock::duration waited) const {
  const Patience& patience = launches_.patience();
  PeerWatch& watch = launches_.watch();
  const PeerWatch::Answer answer = watch.answerOf(peer);
  if (watch.asked() && answer != PeerWatch::Answer::kNone && waited < patience.span + kOthersKnowWithin)
    return;
  throw Error(ResultCode::kRemoteError, "timed out after {} s in {}: rank {} waits for {}{}{}",
              patience.span.count(), what, launches_.rank(), nameOf(peer),
              answer == PeerWatch::Answer::kNone ? " (no answer: it is stopped, or does something else)" : "",
              launches_.stopped().remark());
}

void Launch::finish(const Error* error) noexcept {
  if (error != nullptr) launches_.fail(*error);
  flight_.end(error != nullptr);
  over_.store(true, std::memory_order_release);
  launches_.passTurn();
  leave();
}

void Launch::leave() noexcept {
  if (usedFences_ == 0 || users_.fetch_sub(1, std::memory_order_acq_rel) == 1) launches_.giveBack(*this);
}

}  // namespace xylem
