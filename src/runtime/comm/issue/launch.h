#pragma once
// The operations of one group on one communicator, as a task: tracks that go on independently of each other,
// each a sequence of works. A collective puts a work on the track of each of its channels; a send or receive
// has tracks of its own, so that no pattern of them can block itself.
//
//   Launch& launch = launches.next();
//   launch.add(launch.channelTrack(0), work);
//   scheduler.enqueue(stream, launch);

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/collectives/lane.h"
#include "runtime/comm/issue/boards.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/device/task.h"
#include "runtime/transport/transport.h"

namespace xylem {

class Launches;

// Part of an operation: of a collective, one or two programs that run side by side, or an exchange; of a send
// or receive, a transfer.
struct Work {
  Function function = Function::kAllReduce;
  int lanes = 1;
  std::array<LaneWork, 2> lane;
  std::size_t scratchBytes = 0;
  // The scalar of a scaled sum is read from here when the work starts; null: it is in the reduction already.
  const std::byte* scalarAddress = nullptr;
  std::size_t scalarBytes = 0;
  // A collective that the ranks of a host do in one exchange, without lanes.
  Boards* boards = nullptr;
  DirectWork exchange;
  // Or many collectives in one exchange: which of the track's batch.
  std::size_t firstOfBatch = 0, batched = 0;
  // Of a send or receive; its connection may still be in the making.
  TransferPart transfer;
  // In checked mode the first part of a send tells what is sent, and the receive compares.
  bool checked = false;
  CallSignature call;
  // For a profiler: its event of the call; null: it is told nothing.
  void* event = nullptr;
  int channel = 0;
};

class Launch final : public Task {
 public:
  explicit Launch(Launches& launches) : launches_(launches) {}

  // For the thread that issues:
  void begin(std::uint64_t number);
  int newTrack();
  // The track of a channel of collectives.
  int channelTrack(int channel) { return keptTrack(trackOfChannel_, static_cast<std::size_t>(channel)); }
  // The track of what goes one way between this rank and a peer, of which `key` tells one from another.
  int transferTrack(std::size_t key) { return keptTrack(trackOfTransfer_, key); }
  Work& add(int track);
  // One more of the works that the track's next work does at once: to be filled in.
  DirectWork& addToBatch(int track);
  // In checked mode: a collective of it, which all ranks compare before its data moves.
  void compare(const CallSignature& call) {
    collectives_.push_back(call);
    compared_ = false;
  }
  Flight& flight() { return flight_; }
  // Its only work is an exchange that has been started; or all its works are these transfers, one on each
  // track in the order in which these were made.
  void adopt(const Flight& flight);
  void adopt(const Flight& flight, std::span<const Transfer> transfers);
  // Makes the launch wait for what is in `stream`, and `stream` for the launch.
  void fence(Stream& stream);

  Progress step() override;
  void checkStall() override;
  void finish(const Error* error) noexcept override;

  Launch* link = nullptr;  // in the lists of Launches

 private:
  using Clock = std::chrono::steady_clock;

  // Holds back one of the other streams of the group.
  class Fence final : public Task {
   public:
    explicit Fence(Launch& launch) : launch_(launch) {}
    Progress step() override;
    void finish(const Error*) noexcept override { launch_.leave(); }

   private:
    friend class Launch;
    Launch& launch_;
    bool arrived_ = false;
  };

  struct Track {
    std::vector<Work> works;
    std::size_t used = 0;     // of `works`
    std::size_t current = 0;  // the one that is going on
    bool started = false;
    std::array<Lane, 2> lanes;
    std::array<bool, 2> done{};
    std::vector<std::byte> scratch;
    std::vector<DirectWork> batch;
    std::size_t usedBatch = 0;  // of `batch`
    bool atOnce = false;        // the current work's batch, or else one after the other: which
    std::size_t inBatch = 0;
    Transfer transfer;
    CallWords told{};  // of a receive, by the sender
  };

  int keptTrack(std::vector<int>& tracks, std::size_t key);
  // As far as it goes; adds to `advanced`. True: the track is through.
  bool stepTrack(Track& track, bool& advanced);
  bool startWork(Track& track);
  bool startExchange(Track& track);
  static void startNextOfBatch(Track& track);
  bool startTransfer(Track& track);
  void noteStart(const Work& work);
  void noteEnd(const Work& work);
  bool stepTransfer(Track& track, bool& advanced);
  bool startLanes(Track& track);
  bool stepLanes(Track& track, bool& advanced);
  bool stepExchange(Track& track, bool& advanced);
  bool tellCall(Track& track, const Work& work, const TransferWork& ends) const;
  void compareCalls(bool& advanced);
  int waitsFor(const Track& track) const;
  void lookAtPeers();
  bool awaitCalls();
  void checkPatience(const Track& track, int peer);
  void endWaiting(int peer, const char* what, Clock::duration waited) const;
  void leave() noexcept;

  Launches& launches_;
  std::uint64_t number_ = 0;
  std::vector<std::unique_ptr<Track>> tracks_;
  std::size_t usedTracks_ = 0;
  std::vector<int> trackOfChannel_;
  std::vector<int> trackOfTransfer_;
  std::vector<Track*> open_;
  std::vector<std::unique_ptr<Fence>> fences_;
  int usedFences_ = 0;
  std::atomic<int> awaitedFences_{0};  // streams that have not come so far
  std::atomic<bool> over_{false};
  std::atomic<int> users_{0};  // the task and its fences
  bool begun_ = false;
  // While nothing goes on:
  bool stalled_ = false;
  bool sawPeerEnd_ = false;  // the awaited peer is gone; what it left behind was looked at since
  bool warned_ = false;
  bool asked_ = false;  // whether peers are at work
  Flight flight_;
  // Checked mode:
  std::vector<CallSignature> collectives_;
  bool comparing_ = false, compared_ = true;
  std::optional<Error> news_;  // a peer gave up while calls were compared
  Clock::time_point stallStart_{};
};

}  // namespace xylem
