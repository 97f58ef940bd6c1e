#pragma once
// Reports the operations of a communicator to a profiler plugin: the calls of a launch while it is issued, then
// when their items are at work, and the steps that these take over the network.
//
//   const CallEvents events(profiling, operations, work, true, describe);
//   executor.step(item, observer);                                         // `observer`: a QueueProfile

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/comm/issue/launch_work.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/plugins/profiled_queues.h"
#include "runtime/plugins/profiler.h"

namespace xylem::comm {

// The events of the calls of one launch, until it has been issued. Its items get them, too.
class CallEvents {
 public:
  // Without a profiler: no events.
  CallEvents() = default;
  // `follows`: the profiler will hear when the items are at work. `describe` makes a ProfiledCall of an operation and the
  // number of its items.
  template <typename Describe>
  CallEvents(plugins::Profiling& profiling, std::span<const CommOperation> operations, LaunchWork& work,
             bool follows, Describe&& describe) {
    group_ = std::make_unique<plugins::ProfiledGroup>(*profiling.profiler);
    const std::vector<int> items = countItems(operations.size(), work);
    std::vector<void*> events;
    for (std::size_t i = 0; i < operations.size(); ++i)
      events.push_back(group_->start(describe(operations[i], items[i])));
    hand(events, work, follows && profiling.profiler->followsCalls());
  }

 private:
  static std::vector<int> countItems(std::size_t operations, LaunchWork& work);
  static void hand(std::span<void* const> events, LaunchWork& work, bool followed);

  std::unique_ptr<plugins::ProfiledGroup> group_;  // null without a profiler
};

// Reports to a profiler when an item is at work, how many steps of which queues it takes, and when all of them have been
// read.
class QueueProfile final : public ItemObserver {
 public:
  explicit QueueProfile(plugins::ProfiledQueues& queues) : queues_(queues) {}
  void started(WorkItem& item) override;
  // On GPUs: before the kernel with the item is launched. All items, in the order of their launches.
  void launches(WorkItem& item);
  void ended(WorkItem& item) override;
  void timed(WorkItem& item, const gpu::WorkTimes& times) override;
  // The items that launches() would get become those of a graph.
  void captures() { queues_.foregoKernels(); }

 private:
  plugins::ProfiledQueues& queues_;
};

}  // namespace xylem::comm
