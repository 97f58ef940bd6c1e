#pragma once
// Whether the data of a collective is read through the kernel or staged, where buffers cannot be mapped. Ranks find out while running which way
// is faster (TwoWays), for each kind of operation and each size, between near cores and between far ones: one rank, the teller, times some of its
// operations, and tells in what it posts which way the next one of that kind and size takes. So all ranks take the same one.
//
//   ReadOrStage ways(meeting, distances, choices, tell, now);
//   ways.start(work, true);                       // all ranks; work that can be read
//   ways.begin(true);
//   const bool read = ways.reads();
//   ways.beginTime(true);
//   flags |= ways.tellNext();                     // in what each rank posts,
//   ways.hear(rank, theirs.flags);                // and hears of the others
//   ways.end(read);
//
// A staged Broadcast or Reduce is not a meeting of all ranks, so that not all of them hear the teller. Now and then such an operation begins
// with a meeting of all (meetsAll).

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/meeting.h"
#include "runtime/collectives/peer_distances.h"
#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/touched_memory.h"
#include "runtime/transport/choices/two_ways.h"

namespace xylem::collectives {

class ReadOrStage {
 public:
  // `meeting`, `distances` and `choices` stay; `tell`, if it is not empty, hears on the teller of each change. `now` is the clock by which it
  // decides.
  ReadOrStage(const Meeting& meeting, const PeerDistances& distances, const transport::CopyChoices& choices,
              transport::TellChange tell, PeerDistances::Now now);

  // The next operations are as `work`, but in any buffers. `canBeRead`: there are two ways of doing it.
  void start(const DirectWork& work, bool canBeRead);
  // Each of them begins. `open`: as far as is known, the kernel lets ranks read each other's buffers.
  void begin(bool open) {
    tellsNothing_ = false;
    adapts_ = mayAdapt_ && open;  // otherwise there is one way
    counts_ = adapts_ && meeting_.rank() == teller_;
    times_ = false;
  }
  bool reads() const { return canBeRead_ && (adapts_ ? told().reads : readsWithoutTrial_); }
  // Begins to time the operation if that is needed. Not if it is likely to use mapped buffers, which `isUnmappable` denies.
  void beginTime(bool isUnmappable);
  // Whether an operation that is staged, and in which data goes one way, begins with a meeting of all.
  bool meetsAll();

  // The flag for what this rank posts, about the next operation.
  std::uint8_t tellNext() {
    return adapts_ && meeting_.rank() == teller_ ? tellNextOfAll() : std::uint8_t{0};
  }
  // `rank` has posted these flags.
  void hear(int rank, std::uint8_t flags) {
    if (adapts_ && rank == teller_) hearNext((flags & transport::PostedCall::kReadsNext) != 0);
  }

  // This rank uses these bytes of its staging ring next. The time of an operation that is the first to use some tells nothing.
  void useRing(std::size_t at, std::size_t bytes) {
    if (counts_ && touched_[std::min(kind_, touched_.size() - 1)].touch(at, bytes)) tellsNothing_ = true;
  }
  // Whether some rank has said that the time of this operation tells nothing.
  void setTellsNothing(bool tellsNothing) { tellsNothing_ = tellsNothing; }
  // This operation does not count: it has begun with a meeting of all and is staged after all, which takes longer than either way.
  void leaveOut() { counts_ = false; }

  // The operation is done, and was read or staged.
  void end(bool wasRead) {
    if (counts_) noteTime(wasRead);
  }
  // How far a rank is has changed: ways between far cores, or near ones, were not in use meanwhile.
  void resume(bool isFar);

 private:
  // Operations of one kind, which is their function and root, and one size; all ranks know the same of them.
  struct Told {
    bool reads = false;         // the next one
    std::uint32_t unasked = 0;  // operations that were staged since all ranks met
    std::uint32_t soon = 0;     // how often they meet soon
  };
  std::size_t kindOf(Function function, int root) const;
  Told& told() { return told_[toldIndex_]; }
  const Told& told() const { return told_[toldIndex_]; }
  bool isFar() const { return distances_.isFar(partner_); }
  transport::WaysBySize& timedWays();
  // Not inlined, as small operations have but one way.
  [[gnu::noinline]] std::uint8_t tellNextOfAll();
  [[gnu::noinline]] void hearNext(bool reads);
  void noteTime(bool wasRead);

  const Meeting& meeting_;
  const PeerDistances& distances_;
  const transport::CopyChoices& choices_;
  const transport::TellChange tell_;
  const PeerDistances::Now now_;
  // By kind: what this rank has timed between near cores, and between far ones, the second way being read; and what all ranks were told,
  // by WaysBySize::indexOf, too.
  std::array<std::vector<std::unique_ptr<transport::WaysBySize>>, 2> timed_;
  std::vector<Told> told_;
  // Staging rings, as far as they are known to be used: by kind if that has a root, and one for all others.
  std::vector<transport::TouchedMemory> touched_;
  std::uint64_t stagedUnasked_ = 0;  // operations of all kinds that were staged since all ranks met

  // The work under way.
  Function function_ = Function::kAllReduce;
  int root_ = 0;
  std::size_t bytes_ = 0;  // blockBytes()
  bool canBeRead_ = false;
  bool readsWithoutTrial_ = false;
  bool mayAdapt_ = false;  // one rank decides how the next operation goes,
  bool adapts_ = false;    // unless it can go only one way now
  std::size_t kind_ = 0, toldIndex_ = 0;
  int teller_ = 0;       // the rank whose TwoWays hears of the work, and that tells the others, if it adapts
  int partner_ = 0;      // the rank whose distance counts for this one
  bool counts_ = false;  // this rank's TwoWays hears of the operation
  bool times_ = false;   // this rank's TwoWays hears of its time, too
  // The time is of no use: staging memory was new, or some rank has put memory into huge pages.
  bool tellsNothing_ = false;
  std::chrono::steady_clock::time_point begun_{};  // the operation, if times_
};

}  // namespace xylem::collectives
