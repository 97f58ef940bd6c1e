#include "runtime/comm/issue/profile.h"

#include <algorithm>
#include <utility>

namespace xylem::comm {
namespace {

using MovedBy = plugins::ProfiledQueues::MovedBy;

void begin(plugins::ProfiledQueues& queues, const collectives::ProgramWork& program,
           plugins::ProfiledPart part, MovedBy by) {
  const auto overNetwork = [](const auto* end) { return end != nullptr && end->pump() != nullptr; };
  if (std::none_of(program.to.begin(), program.to.end(), overNetwork) &&
      std::none_of(program.from.begin(), program.from.end(), overNetwork))
    return;
  const collectives::ProgramSteps steps = collectives::countSteps(program);
  const auto beginAll = [&](auto ends, const auto& counts) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] == nullptr) continue;
      part.steps = counts[i];
      part.stepBytes = std::min(program.mostBytes, ends[i]->stepBytes(program.protocol));
      queues.begin(*ends[i], part, by);
    }
  };
  beginAll(program.to, steps.to);
  beginAll(program.from, steps.from);
}

template <typename End>
void begin(plugins::ProfiledQueues& queues, End* end, const collectives::TransferWork& work,
           plugins::ProfiledPart part, MovedBy by) {
  if (end == nullptr) return;
  part.stepBytes = end->stepBytes(work.protocol);
  part.steps = static_cast<int>((work.bytes + part.stepBytes - 1) / part.stepBytes);
  queues.begin(*end, part, by);
}

void beginParts(plugins::ProfiledQueues& queues, WorkItem& item, MovedBy by) {
  const plugins::ProfiledPart part{.call = item.event.call, .channel = item.channel};
  if (const auto* programs = std::get_if<ProgramPath>(&item.path))
    for (const collectives::ProgramWork& program : programs->all()) begin(queues, program, part, by);
  if (const auto* transfer = std::get_if<TransferPath>(&item.path)) {
    begin(queues, transfer->work.to, transfer->work, part, by);
    begin(queues, transfer->work.from, transfer->work, part, by);
  }
}

// Calls `visit` for the place of each operation of the item, and its event.
template <typename Visit>
void forEachOperation(WorkItem& item, Visit&& visit) {
  ExchangeBatch* const batch = item.batch();
  if (batch == nullptr) return visit(item.place, item.event);
  batch->events.resize(batch->places.size());
  for (std::size_t i = 0; i < batch->places.size(); ++i) visit(batch->places[i], batch->events[i]);
}

}  // namespace

std::vector<int> CallEvents::countItems(std::size_t operations, LaunchWork& work) {
  std::vector<int> counts(operations, 0);
  work.forEachItem([&](WorkItem& item) {
    forEachOperation(item, [&](std::size_t place, CallEvent&) { ++counts[place]; });
  });
  return counts;
}

void CallEvents::hand(std::span<void* const> events, LaunchWork& work, bool followed) {
  work.forEachItem([&](WorkItem& item) {
    item.observed = followed;
    forEachOperation(item, [&](std::size_t place, CallEvent& event) { event = {.call = events[place]}; });
  });
}

void QueueProfile::started(WorkItem& item) {
  for (CallEvent& event : item.events())
    event.work = queues_.enter(event.call, item.channel, plugins::hostClock());
  if (item.event.call != nullptr) beginParts(queues_, item, MovedBy::kHost);
}

void QueueProfile::launches(WorkItem& item) { beginParts(queues_, item, MovedBy::kGpu); }

void QueueProfile::ended(WorkItem& item) {
  if (const auto* transfer = std::get_if<TransferPath>(&item.path))
    if (transfer->work.from != nullptr) queues_.read(*transfer->work.from);
  if (const auto* programs = std::get_if<ProgramPath>(&item.path))
    for (const collectives::ProgramWork& program : programs->all())
      for (transport::RecvEnd* from : program.from)
        if (from != nullptr) queues_.read(*from);
  for (CallEvent& event : item.events())
    queues_.leave(std::exchange(event.work, nullptr), plugins::hostClock());
}

void QueueProfile::timed(WorkItem& item, const gpu::WorkTimes& times) {
  void*& work = item.event.work;
  if (times.began == 0) return;
  if (work == nullptr) work = queues_.enter(item.event.call, item.channel, times.began);
  const bool over = work == nullptr || times.ended != 0;
  if (over) queues_.leave(std::exchange(work, nullptr), times.ended);
  item.observed = !over;
}

}  // namespace xylem::comm
