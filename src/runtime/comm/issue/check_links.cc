#include "runtime/comm/issue/check_links.h"

#include "runtime/comm/join/net_devices.h"

namespace xylem {

CheckLinks::CheckLinks(const Plan& plan, const NetChoice& choice, const Transports& transports, int rank) {
  const int ranks = plan.job().ranks();
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const auto open = [&](int peer, bool sends, bool receives) {
    const auto device = [&](Direction direction) {
      return transferDevice(choice, plan, rank, peer, 0, direction);
    };
    ConnectionRequest request{.peer = peer, .purpose = kForChecks, .sends = {}, .receives = {}};
    if (sends) request.sends = {device(Direction::kSend)};
    if (receives) request.receives = {device(Direction::kReceive)};
    connections_.push_back(
        transports.open(transports.wayTo(peer, plannedTransport(choice, rank, peer)), request));
  };
  open(next, true, next == previous);
  if (next != previous) open(previous, false, true);
}

std::vector<Connection*> CheckLinks::connections() const {
  std::vector<Connection*> all;
  for (const auto& connection : connections_) all.push_back(connection.get());
  return all;
}

}  // namespace xylem
