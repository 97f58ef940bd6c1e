#include "comm/links.h"

#include <algorithm>
#include <map>

namespace xylem {
namespace {

struct RingNeighbours {
  int position = 0;
  int previous = -1;
  int next = -1;
};

RingNeighbours neighboursIn(const std::vector<int>& ring, int rank) {
  const auto found = std::find(ring.begin(), ring.end(), rank);
  if (found == ring.end())
    throw Error(ResultCode::kInternalError, "rank {} is missing in a ring of the plan", rank);
  const auto n = static_cast<int>(ring.size());
  const auto position = static_cast<int>(found - ring.begin());
  return {position, ring[static_cast<std::size_t>((position + n - 1) % n)],
          ring[static_cast<std::size_t>((position + 1) % n)]};
}

}  // namespace

Links connectRings(const std::vector<std::vector<int>>& rings, Transport& transport,
                   std::span<const Peer> peers, int rank, const Waiting& waiting) {
  Links links;
  // Both ends number the queues between them in the order of channels.
  std::map<int, ConnectionRequest> requests;
  struct Ends {
    RingNeighbours ring;
    int sendQueue = 0;
    int receiveQueue = 0;
  };
  std::vector<Ends> ends;
  for (const std::vector<int>& ring : rings) {
    Ends end{neighboursIn(ring, rank)};
    if (ring.size() > 1) {
      for (const int peer : {end.ring.previous, end.ring.next}) {
        const Viability viability =
            transport.isViable(peers[static_cast<std::size_t>(rank)], peers[static_cast<std::size_t>(peer)]);
        if (!viability.viable)
          throw Error(ResultCode::kInvalidUsage, "{} cannot connect rank {} to rank {}: {}", transport.name(),
                      rank, peer, viability.reason);
        requests[peer].peer = peer;
      }
      end.sendQueue = requests[end.ring.next].sends++;
      end.receiveQueue = requests[end.ring.previous].receives++;
    }
    ends.push_back(end);
  }
  std::vector<ConnectionRequest> list;
  for (const auto& [peer, request] : requests) list.push_back(request);
  if (!list.empty()) links.connections_ = transport.connect(list, peers, waiting);

  const auto connectionTo = [&](int peer) {
    return std::find_if(links.connections_.begin(), links.connections_.end(),
                        [peer](const auto& c) { return c->peer() == peer; })
        ->get();
  };
  for (std::size_t c = 0; c < rings.size(); ++c) {
    LinkedChannel channel;
    channel.place.position = ends[c].ring.position;
    channel.place.ranks = static_cast<int>(rings[c].size());
    if (channel.place.ranks > 1) {
      channel.previous = connectionTo(ends[c].ring.previous);
      channel.next = connectionTo(ends[c].ring.next);
      channel.place.previous = &channel.previous->reader(ends[c].receiveQueue);
      channel.place.next = &channel.next->writer(ends[c].sendQueue);
    }
    links.channels_.push_back(channel);
  }
  return links;
}

}  // namespace xylem
