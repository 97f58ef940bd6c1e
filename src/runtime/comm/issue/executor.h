#pragma once
// Runs any work item, one after the other: programs, exchanges and transfers. The same executor runs the items
// of small calls, inside of the call, and those of launches, in their stream.
//
//   Executor executor;
//   while (executor.step(item, nullptr) != device::Progress::kDone)    // until it is done, the same item
//     if (executor.waitsFor(item) >= 0) ...                            // this rank has to act first
//
// An executor keeps the memory that an item needs for the next one.

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/collectives/program_executor.h"
#include "runtime/collectives/transfer.h"
#include "runtime/comm/issue/work_item.h"
#include "runtime/device/task.h"

namespace xylem::comm {

class Executor {
 public:
  static constexpr int kNobody = -1;  // no rank in particular

  // Starts the item, unless it has started, and goes on as far as possible without waiting. An item that
  // waits for its connection has not started. `observer`: null if there is none.
  device::Progress step(WorkItem& item, ItemObserver* observer) {
    if (auto* const exchange = std::get_if<ExchangePath>(&item.path))
      return stepExchange(item, *exchange, observer);
    if (auto* const transfer = std::get_if<TransferPath>(&item.path))
      return stepTransfer(item, *transfer, observer);
    return stepPrograms(item, *std::get_if<ProgramPath>(&item.path), observer);
  }
  // Starts a send or receive, if its connection is there and it has not started, and moves nothing yet.
  void start(WorkItem& item, TransferPath& path, ItemObserver* observer) {
    if (!started_ && path.connect()) startConnected(item, path, observer);
  }
  // After kWouldBlock: the rank that has to act first, or kNobody.
  int waitsFor(const WorkItem& item) const;
  // Forgets the item that it was given last.
  void reset() { started_ = false; }

 private:
  // Not inlined, so that small exchanges and transfers need no stack for the rest.
  [[gnu::noinline]] device::Progress stepPrograms(WorkItem& item, ProgramPath& path, ItemObserver* observer);
  [[gnu::noinline]] bool fitsThatOfPeer(const WorkItem& item, TransferPath& path);
  device::Progress stepTransfer(WorkItem& item, TransferPath& path, ItemObserver* observer) {
    start(item, path, observer);
    if (!started_) return device::Progress::kWouldBlock;
    const device::Progress progress = transfer_.step();
    return progress == device::Progress::kDone ? end(item, observer) : progress;
  }
  device::Progress end(WorkItem& item, ItemObserver* observer) {
    started_ = false;
    if (isObserved(item, observer)) observer->ended(item);
    return device::Progress::kDone;
  }
  void startConnected(WorkItem& item, TransferPath& path, ItemObserver* observer) {
    if (item.checked && !fitsThatOfPeer(item, path)) return;
    if (isObserved(item, observer)) observer->started(item);
    transfer_.start(path.work);
    started_ = true;
  }
  static bool isObserved(const WorkItem& item, const ItemObserver* observer) {
    return observer != nullptr && item.observed;
  }
  void startPrograms(const WorkItem& item, ProgramPath& path);
  static void readScalar(const WorkItem& item, collectives::Reduction& reduction);
  device::Progress stepExchange(WorkItem& item, ExchangePath& path, ItemObserver* observer);
  device::Progress stepBatch(ExchangePath& path);
  bool startExchange(const WorkItem& item, ExchangePath& path);
  void startNextOfBatch(const ExchangePath& path);

  bool started_ = false;
  // Programs:
  std::array<collectives::ProgramExecutor, collectives::kMostPrograms> executors_;
  std::array<bool, collectives::kMostPrograms> done_{};
  std::vector<std::byte> scratch_;
  // Exchanges:
  bool together_ = false;        // the batch is one exchange; otherwise its works follow each other
  std::size_t nextOfBatch_ = 0;  // the work that follows
  // Transfers:
  collectives::Transfer transfer_;
  CallWords told_{};  // checked mode: the sender's call
};

}  // namespace xylem::comm
