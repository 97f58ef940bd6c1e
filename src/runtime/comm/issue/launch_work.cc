#include "runtime/comm/issue/launch_work.h"

namespace xylem::comm {

using device::Progress;

WorkItem& WorkQueue::add() {
  if (used_ == items_.size()) items_.emplace_back();
  WorkItem& item = items_[used_++];
  item.scalarAddress = nullptr;
  item.checked.reset();
  item.observed = false;
  item.channel = 0;
  return item;
}

bool WorkQueue::step(bool collectivesToo, ItemObserver* observer, bool& advanced) {
  for (; current_ < used_; ++current_) {
    WorkItem& item = items_[current_];
    if (!collectivesToo && !isPointToPoint(item.function)) return false;
    const Progress progress = executor_.step(item, observer);
    advanced = advanced || progress != Progress::kWouldBlock;
    if (progress != Progress::kDone) return false;
  }
  return true;
}

void LaunchWork::clear() {
  usedQueues_ = usedBatches_ = 0;
  queueOfChannel_.clear();
  queueOfTransfer_.clear();
  open_.clear();
  begun_ = false;
}

int LaunchWork::newQueue() {
  if (usedQueues_ == queues_.size()) queues_.push_back(std::make_unique<WorkQueue>());
  WorkQueue& queue = *queues_[usedQueues_];
  queue.clear();
  open_.push_back(&queue);
  return static_cast<int>(usedQueues_++);
}

int LaunchWork::queueFor(std::vector<int>& queues, std::size_t key) {
  if (queues.size() <= key) queues.resize(key + 1, -1);
  if (queues[key] < 0) queues[key] = newQueue();
  return queues[key];
}

ExchangeBatch& LaunchWork::newBatch() {
  if (usedBatches_ == batches_.size()) batches_.emplace_back();
  ExchangeBatch& batch = batches_[usedBatches_++];
  batch.works.clear();
  batch.places.clear();
  return batch;
}

Progress LaunchWork::step(bool collectivesToo, ItemObserver* observer) {
  // The first send or receive of each queue starts before any of them moves data, if it is connected: how long a receive takes is then
  // from the beginning of the launch, and counts what this rank copies for its sends, too.
  if (!begun_)
    for (WorkQueue* const queue : open_) queue->startTransfer(observer);
  begun_ = true;
  bool advanced = false;
  for (std::size_t i = 0; i < open_.size();) {
    if (open_[i]->step(collectivesToo, observer, advanced)) {
      open_[i] = open_.back();
      open_.pop_back();
    } else {
      ++i;
    }
  }
  if (open_.empty()) return Progress::kDone;
  return advanced ? Progress::kAdvanced : Progress::kWouldBlock;
}

std::vector<SingleItem> LaunchWork::openSingles() {
  std::vector<SingleItem> items;
  if (usedQueues_ > kMostSingles) return items;
  for (std::size_t i = 0; i < usedQueues_; ++i) {
    const std::optional<SingleItem> item = queues_[i]->openSingle();
    if (!item) return {};
    items.push_back(*item);
  }
  keepOpen(~std::uint32_t{0});
  return items;
}

void LaunchWork::keepOpen(std::uint32_t queues) {
  open_.clear();
  begun_ = false;
  for (std::size_t i = 0; i < usedQueues_; ++i)
    if ((queues >> i & 1) != 0) open_.push_back(queues_[i].get());
}

}  // namespace xylem::comm
