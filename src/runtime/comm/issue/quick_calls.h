#pragma once
// Small operations that their caller does itself, inside of the call, where nothing stands before them in
// their stream: a collective on the boards, or a group of sends and receives. If the other ranks are there
// already, no task is made at all.
//
//   switch (quick.tryNow(operations)) {
//     case QuickCalls::Outcome::kDone: return;
//     case QuickCalls::Outcome::kBegun: ... issue a launch, to which quick.handOver(launch)
//     case QuickCalls::Outcome::kNotTaken: ... issue a launch
//   }
//
// One thread at a time, that which issues.

#include <span>
#include <vector>

#include "runtime/comm/issue/boards.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/comm/issue/launches.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/transfers.h"

namespace xylem {

class QuickCalls {
 public:
  // `spins`: every rank has a core of its own, so that waiting for a moment keeps nobody away. `boards`: null
  // where there are none.
  QuickCalls(int ranks, bool spins, Boards* boards, Transfers& transfers, Launches& launches,
             FlightRecorder& recorder)
      : ranks_(ranks),
        spins_(spins),
        boards_(boards),
        transfers_(transfers),
        launches_(launches),
        recorder_(recorder) {}

  // kBegun: they have started, and nothing was in the stream.
  enum class Outcome { kDone, kBegun, kNotTaken };
  Outcome tryNow(std::span<const CommOperation> operations);
  // What has begun, to a launch of the same operations.
  void handOver(Launch& launch) const;

 private:
  Outcome exchangeNow(const CommOperation& operation);
  void start(DirectExchange& exchange, const CommOperation& operation);
  Outcome transferNow(std::span<const CommOperation> operations);
  static bool mayTransfer(std::span<const CommOperation> operations);
  bool startTransfers();
  bool stepTransfers();
  // Whether all is done; with some patience, and more for more bytes.
  template <typename Step>
  bool finishes(std::size_t bytes, Step&& step);
  // What was done, or has begun, goes into the recorder.
  Outcome note(std::span<const CommOperation> operations, std::uint64_t way, bool done);

  const int ranks_;
  const bool spins_;
  Boards* const boards_;
  Transfers& transfers_;
  Launches& launches_;
  FlightRecorder& recorder_;
  Flight flight_;
  CommOperation prepared_;        // the last exchange that was started here
  std::uint64_t startsThen_ = 0;  // of the exchange's
  std::span<const TransferPart> parts_;
  std::vector<Transfer> transfersBegun_;  // one for each part; empty: an exchange has begun
  int patience_ = 1;                      // how often it pays to wait: fewer after others were late
  int skipped_ = 0;
};

}  // namespace xylem
