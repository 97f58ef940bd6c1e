#pragma once
// The works of a communicator's last few small groups. Programs repeat their groups, and often take turns with a few of them: a group
// that differs from an earlier one by its buffers only is that one's work in new buffers, and needs no planning.
//
//   if (!works.again(operations, 0)) schedule(operations, scheduling, works.work());
//   while (works.step(observer) != device::Progress::kDone) ...
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
  // Makes the kept work of such a group the current one, in the buffers of `operations`. False if there is none: then the current work is
  // not kept, and the caller fills it. `number`: of the work, if it is known to be that of these operations in these buffers.
  bool again(std::span<const CommOperation> operations, std::uint64_t number);
  // Stands for the current work and its buffers; 0: it is not kept.
  std::uint64_t number() const { return now().number; }
  // Keeps the current work, which is done, unless some operation is scaled: the next one may have another scalar.
  void keep(std::span<const CommOperation> operations, const GroupBytes& bytes);
  void forget();
  // For kept work:
  const GroupBytes& bytes() const { return now().bytes; }
  std::span<const CallWords> calls() const { return now().calls; }

  LaunchWork& work() { return *now().work; }
  // For a launch that takes the work and gives another one for it. The work must not be kept then.
  std::unique_ptr<LaunchWork>& handedOver() { return now().work; }
  device::Progress step(ItemObserver* observer);

 private:
  struct Kept {
    std::unique_ptr<LaunchWork> work = std::make_unique<LaunchWork>();
    std::vector<CallWords> calls;  // of the group; none: it is not kept
    SingleItem single;             // of kept work that has one item only
    GroupBytes bytes;
    std::uint64_t number = 0;
  };
  static constexpr std::size_t kMost = 4;
  Kept& now() { return works_[now_]; }
  const Kept& now() const { return works_[now_]; }
  // The rest of a number by kMost is where its work is.
  std::uint64_t newNumber() { return ++given_ * kMost + now_; }

  std::array<Kept, kMost> works_;
  std::size_t now_ = 0;
  std::uint64_t given_ = 0;  // numbers
};

}  // namespace xylem::comm
