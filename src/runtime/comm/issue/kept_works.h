#pragma once
// The works of a communicator's last few small groups. Programs repeat their groups, and often take turns with a few of them: a group
// that differs from an earlier one by its buffers only is that one's work in new buffers, and needs no planning.
//
//   if (!works.again(operations, 0)) schedule(operations, scheduling, works.work());
//   while (!works.step(observer)) ...
//   works.keep(operations, bytes);
//
// One work is the current one: that of the group that is being issued.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/comm/issue/launch_work.h"
#include "runtime/comm/issue/operation.h"

namespace xylem::comm {

// The bytes that a group moves.
struct GroupBytes {
  std::size_t exchanged = 0;  // as from schedule()
  std::size_t all = 0;        // over all ranks, if it is exchanged
};

class KeptWorks {
 public:
  KeptWorks() = default;
  KeptWorks(const KeptWorks&) = delete;
  KeptWorks& operator=(const KeptWorks&) = delete;

  // Makes the kept work of such a group the current one, in the buffers of `operations`. False if there is none: then the current work is
  // not kept, and the caller fills it. `number`: of the work, if it is known to be that of these operations in these buffers.
  bool again(std::span<const CommOperation> operations, std::uint64_t number);
  // Stands for the current work and its buffers; 0: it is not kept.
  std::uint64_t number() const { return now_->number; }
  // Keeps the current work, which is done, unless some operation is scaled: the next one may have another scalar.
  void keep(std::span<const CommOperation> operations, const GroupBytes& bytes);
  // For kept work:
  const GroupBytes& bytes() const { return now_->bytes; }
  std::span<const CallWords> calls() const { return now_->calls; }

  LaunchWork& work() { return *now_->work; }
  // For a launch that takes the work, which goes on where it is and is not kept any more, and gives another one for it.
  std::unique_ptr<LaunchWork>& handedOver();
  // Steps the work. Returns whether it is done.
  bool step(ItemObserver* observer) {
    const auto& [item, executor] = now_->single;
    return item != nullptr ? executor->step(*item, observer) == device::Progress::kDone
                           : stepSeveral(observer);
  }

 private:
  struct Kept {
    std::unique_ptr<LaunchWork> work = std::make_unique<LaunchWork>();
    std::vector<CallWords> calls;   // of the group; none: it is not kept
    std::vector<SingleItem> items;  // of kept work that is stepped by its items
    SingleItem single;              // if that is one
    std::uint32_t allItems = 0;     // a bit for each of them
    GroupBytes bytes;
    std::uint64_t number = 0;
  };
  static constexpr std::size_t kMost = 4;
  // The rest of a number by kMost is where its work is.
  std::uint64_t newNumber() { return ++given_ * kMost + place(); }
  std::size_t place() const { return static_cast<std::size_t>(now_ - works_.data()); }
  void restart() {
    if (now_->allItems == 0) return now_->work->restart();
    left_ = now_->allItems;
    begun_ = false;
  }
  // Not inlined, so that a single collective needs no stack for it.
  [[gnu::noinline]] bool stepSeveral(ItemObserver* observer);
  void forget();

  std::array<Kept, kMost> works_;
  Kept* now_ = works_.data();
  std::uint32_t left_ = 0;   // of the items of the current work: those that are not done
  bool begun_ = false;       // its sends and receives have started, if they were connected
  std::uint64_t given_ = 0;  // numbers
};

}  // namespace xylem::comm
