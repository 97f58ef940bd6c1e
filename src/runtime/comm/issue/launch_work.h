#pragma once
// The work items of one launch, in queues that advance independently of each other; the items of one queue run
// in order. A collective puts one item into the queue of each of its channels. A send or receive has queues of
// its own, so that no pattern of them can block itself.
//
//   LaunchWork work;
//   work.add(work.channelQueue(0)).path = ExchangePath{mailboxes, directWork, {}};
//   while (work.step(true, nullptr) != device::Progress::kDone) backoff.pause();
//
// The memory of queues and items is kept for later launches.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/comm/issue/executor.h"
#include "runtime/comm/issue/work_item.h"

namespace xylem::comm {

// An item that is alone in its queue, and its executor.
struct SingleItem {
  WorkItem* item = nullptr;
  Executor* executor = nullptr;
};

// Items that run one after the other, and their executor. All of a queue are parts of collectives on one channel, or of messages over one
// connection.
class WorkQueue {
 public:
  void clear() {
    used_ = current_ = 0;
    executor_.reset();
  }
  // Runs the items once more, after they were done.
  void restart() { current_ = 0; }
  // The next item; the caller fills in its path.
  WorkItem& add();
  std::span<WorkItem> items() { return {items_.data(), used_}; }
  // Starts the first item if it is a send or receive.
  void startTransfer(ItemObserver* observer) {
    if (current_ == used_) return;
    if (auto* const path = std::get_if<TransferPath>(&current().path))
      executor_.start(current(), *path, observer);
  }
  // Steps the items in turn and sets `advanced` if anything moved. Returns true once all are done.
  // `collectivesToo`: false while collectives may not start yet.
  bool step(bool collectivesToo, ItemObserver* observer, bool& advanced);
  // If there is only one item, that, to be run again.
  std::optional<SingleItem> openSingle() {
    if (used_ != 1) return std::nullopt;
    current_ = 0;
    return SingleItem{items_.data(), &executor_};
  }
  // While there is one that is not done:
  WorkItem& current() { return items_[current_]; }
  const WorkItem& current() const { return items_[current_]; }
  // The rank that the current item waits for, or Executor::kNobody.
  int waitsFor() const { return executor_.waitsFor(current()); }

 private:
  std::vector<WorkItem> items_;
  std::size_t used_ = 0;  // of `items_`
  std::size_t current_ = 0;
  Executor executor_;
};

class LaunchWork {
 public:
  void clear();
  int newQueue();
  // The queue of a channel of collectives.
  int channelQueue(int channel) { return queueFor(queueOfChannel_, static_cast<std::size_t>(channel)); }
  // The queue of transfers that share a TransferPart::key.
  int transferQueue(std::size_t key) { return queueFor(queueOfTransfer_, key); }
  // The next item of a queue; the caller fills in its path.
  WorkItem& add(int queue) { return queues_[static_cast<std::size_t>(queue)]->add(); }
  // Memory for a batch, until the next clear().
  ExchangeBatch& newBatch();
  // Calls `visit` for each item.
  template <typename Visit>
  void forEachItem(Visit&& visit) {
    for (std::size_t i = 0; i < usedQueues_; ++i)
      for (WorkItem& item : queues_[i]->items()) visit(item);
  }

  // Steps every queue once; see WorkQueue::step. kDone: all items are done.
  device::Progress step(bool collectivesToo, ItemObserver* observer);
  // Opens work that was done for its items to be run again by their executors, in place of step(). Returns them by queue; none if a queue
  // has more than one, or there are more than kMostSingles.
  static constexpr std::size_t kMostSingles = 32;
  std::vector<SingleItem> openSingles();
  // Then, for step() to go on: the queues whose items are not done, a bit for each.
  void keepOpen(std::uint32_t queues);
  // The queues that have items left, and those from openSingles().
  std::span<WorkQueue* const> open() const { return open_; }
  // Runs all items once more, after they were done.
  void restart() {
    open_.clear();
    begun_ = false;
    for (std::size_t i = 0; i < usedQueues_; ++i) {
      queues_[i]->restart();
      open_.push_back(queues_[i].get());
    }
  }

 private:
  int queueFor(std::vector<int>& queues, std::size_t key);

  std::vector<std::unique_ptr<WorkQueue>> queues_;
  std::size_t usedQueues_ = 0;
  std::vector<int> queueOfChannel_, queueOfTransfer_;  // by channel and by key; -1: none
  std::vector<WorkQueue*> open_;
  bool begun_ = false;
  std::deque<ExchangeBatch> batches_;
  std::size_t usedBatches_ = 0;
};

}  // namespace xylem::comm
