#pragma once
// Executes small operations inside of the call, without a task: a collective over the mailboxes of a host, or
// a group of sends and receives, if nothing stands before them in their stream. If the other ranks come at
// the same time, an operation is done when the call returns.
//
//   switch (executor.tryNow(operations)) {
//     case InlineExecutor::Outcome::kDone: return;
//     case InlineExecutor::Outcome::kBegun: ... issue a launch, after executor.handOver(launch)
//     case InlineExecutor::Outcome::kNotTaken: ... issue a launch
//   }
//
// Only the issuing thread uses it.

#include <span>
#include <vector>

#include "runtime/comm/issue/launch_queue.h"
#include "runtime/comm/issue/mailboxes.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/comm/watch/flight_recorder.h"

namespace xylem::comm {

class InlineExecutor {
 public:
  // `spins`: every rank has a core of its own, so waiting for a moment takes the core from no other rank.
  // `mailboxes`: null if the ranks have none.
  InlineExecutor(int ranks, bool spins, Mailboxes* mailboxes, Transfers& transfers, LaunchQueue& launches,
                 FlightRecorder& recorder)
      : ranks_(ranks),
        spins_(spins),
        mailboxes_(mailboxes),
        transfers_(transfers),
        launches_(launches),
        recorder_(recorder) {}

  // kBegun: the operations have started; their stream was empty.
  enum class Outcome { kDone, kBegun, kNotTaken };
  Outcome tryNow(std::span<const CommOperation> operations);
  // Hands what has begun over to a launch of the same operations.
  void handOver(LaunchTask& launch) const;

 private:
  Outcome exchangeNow(const CommOperation& operation);
  void start(collectives::DirectExchange& exchange, const CommOperation& operation);
  Outcome transferNow(std::span<const CommOperation> operations);
  static bool areSmallTransfers(std::span<const CommOperation> operations);
  bool startTransfers();
  bool stepTransfers();
  // Steps until everything is done; gives up after a time that grows with the bytes.
  template <typename Step>
  bool finishes(std::size_t bytes, Step&& step);
  // Notes the operations in the flight recorder, as done or as begun.
  Outcome record(std::span<const CommOperation> operations, std::uint64_t path, bool done);

  const int ranks_;
  const bool spins_;
  Mailboxes* const mailboxes_;
  Transfers& transfers_;
  LaunchQueue& launches_;
  FlightRecorder& recorder_;
  LaunchRecorder begunRecorder_;
  CommOperation prepared_;        // the exchange that was started last
  std::uint64_t startsThen_ = 0;  // DirectExchange::starts() after that
  std::span<const TransferPart> parts_;
  std::vector<collectives::Transfer> transfersBegun_;  // one for each part; empty: an exchange has begun
  int patience_ = 1;  // one in `patience_` operations waits; grows if other ranks are late
  int skipped_ = 0;
};

}  // namespace xylem::comm
