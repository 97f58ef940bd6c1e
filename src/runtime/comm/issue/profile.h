#pragma once
// Reports the operations of a communicator to a profiler plugin: the calls of a launch while it is issued, and
// the steps that their items take over the network.
//
//   const CallEvents events(profiling, operations, describe);     // no profiler: no events
//   item.event = events.of(0);
//   executor.step(item, observer);                                // `observer`: a QueueProfile

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/work_item.h"
#include "runtime/plugins/profiled_network.h"
#include "runtime/plugins/profiler.h"

namespace xylem::comm {

// The events of the calls of one launch, from its beginning until it has been issued.
class CallEvents {
 public:
  // `profiling`: null without a profiler. `describe` makes a ProfiledCall of an operation.
  template <typename Describe>
  CallEvents(plugins::Profiling* profiling, std::span<const CommOperation> operations, Describe&& describe) {
    if (profiling == nullptr) return;
    const bool followed = profiling->profiler->listensToProxy();
    group_ = std::make_unique<Group>(*profiling->profiler);
    for (const CommOperation& operation : operations) {
      void* const event = group_->events.start(describe(operation));
      if (followed) group_->followed.push_back(event);
    }
  }
  // The event of the operation with this index if the profiler follows its steps; otherwise null.
  void* of(std::size_t operation) const {
    return group_ == nullptr || group_->followed.empty() ? nullptr : group_->followed[operation];
  }

 private:
  struct Group {
    explicit Group(plugins::Profiler& profiler) : events(profiler) {}
    plugins::ProfiledGroup events;
    std::vector<void*> followed;
  };
  std::unique_ptr<Group> group_;  // null without a profiler
};

// Reports to a profiler how many steps of which queues an item takes, and when all of them have been read.
class QueueProfile final : public ItemObserver {
 public:
  explicit QueueProfile(plugins::ProfiledQueues& queues) : queues_(queues) {}
  void started(const WorkItem& item) override;
  void ended(const WorkItem& item) override;

 private:
  plugins::ProfiledQueues& queues_;
};

}  // namespace xylem::comm
