#include "runtime/comm/issue/work_profile.h"

namespace xylem {
namespace {

std::span<const LaneWork> lanesOf(const Work& work) {
  return {work.lane.data(), static_cast<std::size_t>(work.lanes)};
}

void startLane(ProfiledQueues& queues, const LaneWork& lane, ProfiledPart part) {
  const LaneSteps steps = countSteps(lane);
  const auto begin = [&](auto ends, const auto& counts) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] == nullptr) continue;
      part.steps = counts[i];
      part.stepBytes = std::min(lane.mostBytes, ends[i]->stepBytes(lane.protocol));
      queues.begin(*ends[i], part);
    }
  };
  begin(lane.to, steps.to);
  begin(lane.from, steps.from);
}

template <typename End>
void startTransfer(ProfiledQueues& queues, End& end, const TransferWork& work, ProfiledPart part) {
  part.stepBytes = end.stepBytes(work.protocol);
  part.steps = static_cast<int>((work.bytes + part.stepBytes - 1) / part.stepBytes);
  queues.begin(end, part);
}

}  // namespace

void profileStart(ProfiledQueues& queues, const Work& work) {
  ProfiledPart part{.call = work.event, .channel = work.channel};
  if (!isPointToPoint(work.function)) {
    for (const LaneWork& lane : lanesOf(work)) startLane(queues, lane, part);
    return;
  }
  const TransferWork transfer = work.transfer.connected();
  if (transfer.to != nullptr) startTransfer(queues, *transfer.to, transfer, part);
  if (transfer.from != nullptr) startTransfer(queues, *transfer.from, transfer, part);
}

void profileEnd(ProfiledQueues& queues, const Work& work) {
  if (isPointToPoint(work.function)) {
    if (RecvEnd* from = work.transfer.connected().from) queues.read(*from);
    return;
  }
  for (const LaneWork& lane : lanesOf(work))
    for (RecvEnd* from : lane.from)
      if (from != nullptr) queues.read(*from);
}

}  // namespace xylem
