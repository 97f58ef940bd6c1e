#pragma once
// Checked mode (XYLEM_CHECK=1): before a group with collectives moves data, its ranks compare what they call.
// Each rank passes the calls of all others round a ring of queues of their own, so every rank learns of all
// calls and comes to the same verdict. Only collectives are compared: sends and receives concern pairs of
// ranks.
//
//   CallCheck check(rank, ranks, toNext, fromPrevious);
//   check.begin(calls);
//   check.step();             // kDone: all ranks call the same. Throws ncclInvalidUsage with who calls what
//   check.missing()           // the rank whose calls have not come, while that takes long
//
// step() never waits and is called again, so that one thread can drive many ranks. The same queues serve all
// groups: the groups of a communicator run in the same order on every rank.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/collectives/transfer.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/work_item.h"
#include "runtime/device/task.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

// The collectives that one rank calls in one group, as words for a queue. The first calls are there one by
// one, the rest only as a hash.
class GroupCalls {
 public:
  static constexpr std::size_t kMaxReported = 16;
  static constexpr std::size_t kHeadWords = 2;

  GroupCalls() = default;
  explicit GroupCalls(std::span<const CallSignature> calls);

  // The words on their way through a queue: the first kHeadWords say how many follow.
  std::vector<std::uint64_t>& words() { return words_; }
  const std::vector<std::uint64_t>& words() const { return words_; }
  static std::size_t wordsAfter(std::span<const std::uint64_t> head);

  std::uint64_t calls() const { return words_.empty() ? 0 : words_[0]; }
  // One of the first kMaxReported calls; nothing beyond the last call, or if the words are no valid call.
  std::optional<CallSignature> call(std::size_t index) const;
  bool operator==(const GroupCalls&) const = default;

 private:
  std::vector<std::uint64_t> words_;  // number of calls, hash of all, then the first of them
};

// Says which ranks call what, in the first call that is not the same on all; empty if all are the same.
// `first` is the number of the group's first call among the communicator's collectives.
std::string differences(std::span<const GroupCalls> records, std::uint64_t first);

// A send tells its call to the receive ahead of the data. Sends it, or takes it into `told` and compares it
// with the receive `mine`, of the rank `peer`'s send. False if the queue is full or empty. Throws
// ncclInvalidUsage if they do not fit.
bool compareTransfer(const CheckedCall& mine, const collectives::TransferWork& ends, int peer,
                     CallWords& told);

class CallCheck {
 public:
  // `next` sends on its queue 0, `previous` receives on its queue 0; with two ranks they are one connection.
  CallCheck(int rank, int ranks, transport::SendEnd& next, transport::RecvEnd& previous);

  void begin(std::span<const CallSignature> calls);
  device::Progress step();
  // The nearest rank before this one whose calls have not come; -1 if all have.
  int missing() const;
  int previousRank() const { return rankBefore(1); }
  // Everything known about the missing rank, for an error; empty if none is missing.
  std::string missingText() const;

 private:
  // How far the records of all ranks have come through a queue.
  struct Transit {
    std::size_t round = 0;  // records that are through
    std::size_t word = 0;   // words of the next record that are through
  };

  int rankBefore(std::size_t distance) const;
  GroupCalls& recordBefore(std::size_t distance);
  bool sendSome();
  bool receiveSome();
  void judge();

  const int rank_;
  const int ranks_;
  transport::SendEnd& next_;
  transport::RecvEnd& previous_;
  const std::size_t stepWords_;
  std::vector<GroupCalls> records_;  // by rank
  Transit sent_, received_;
  std::uint64_t first_ = 0;              // collectives in earlier groups
  std::optional<CallSignature> before_;  // the last of these: the same on all ranks
};

}  // namespace xylem::comm
