#include "runtime/comm/join/net_devices.h"

namespace xylem {
namespace {

int deviceOf(const Plan& plan, int rank, const NetEnd& end) {
  if (end.net == kNoNode) return 0;
  return plan.job().view(rank).system->net(end.net).dev;
}

}  // namespace

TransportKind plannedTransport(const NetChoice& choice, int rank, int peer) {
  return choice.transport(rank, peer, rank < peer ? Direction::kSend : Direction::kReceive);
}

int collectiveDevice(const NetChoice& choice, const Plan& plan, int rank, int channel, int peer,
                     Direction direction) {
  const std::optional<NetEnd> end = choice.ringEnd(rank, channel, peer, direction);
  return end ? deviceOf(plan, rank, *end) : transferDevice(choice, plan, rank, peer, channel, direction);
}

// Who sends takes the device that the peer receives through, which is the peer's own.
int transferDevice(const NetChoice& choice, const Plan& plan, int rank, int peer, int channel,
                   Direction direction) {
  return deviceOf(plan, rank, choice.p2pEnd(rank, direction == Direction::kSend ? peer : rank, channel));
}

}  // namespace xylem
