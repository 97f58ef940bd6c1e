#pragma once
// Checked mode (XYLEM_CHECK=1): before a group with collectives moves data, its ranks tell each other what
// they call, round a ring of queues of their own. Every rank hears of all others and comes to the same
// verdict. Nothing waits: step() is tried again, so that one thread can drive many ranks.
//
//   CallCheck check(rank, ranks, std::move(toNext), std::move(fromPrevious));
//   check.begin(calls);
//   check.step();             // kDone: all call the same. Throws ncclInvalidUsage with who calls what
//   check.missing()           // whose word is not here, while that takes long
//
// The same queue serves one group after the other: groups of a communicator run in order on every rank.

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/issue/call_record.h"
#include "runtime/device/task.h"
#include "runtime/transport/transport.h"

namespace xylem {

class CallCheck {
 public:
  // `next` sends on its queue 0, `previous` receives on its queue 0; with two ranks they are one connection.
  CallCheck(int rank, int ranks, SendEnd& next, RecvEnd& previous);

  void begin(std::span<const CallSignature> calls);
  Progress step();
  // The rank that has not told, as far as known here: of the ranks before this one, the nearest.
  int missing() const;
  int previousRank() const { return rankBefore(1); }
  // What is known about the missing rank, for whoever has waited too long.
  std::string missingText() const;

 private:
  // A record on its way through a queue, step by step.
  struct Passage {
    std::size_t round = 0;  // records passed
    std::size_t word = 0;   // of the record that is passing
  };

  int rankBefore(std::size_t distance) const;
  CallRecord& recordBefore(std::size_t distance);
  bool sendSome();
  bool receiveSome();
  void judge();

  const int rank_;
  const int ranks_;
  SendEnd& next_;
  RecvEnd& previous_;
  const std::size_t stepWords_;
  std::vector<CallRecord> records_;  // by rank
  Passage sent_, received_;
  std::uint64_t first_ = 0;              // collectives in earlier groups
  std::optional<CallSignature> before_;  // the last of them: the same on all ranks
};

}  // namespace xylem
