#pragma once
// A rank's connections for all channels: for each channel the queue it receives from and the one it sends to.
//
//   Links links = connectRings(rings, transport, peers, rank, waiting);
//   links.channel(0).place   ->   where this rank stands in ring 0, with its two queues

#include <memory>
#include <span>
#include <vector>

#include "collectives/ring_all_reduce.h"
#include "transport/transport.h"

namespace xylem {

struct LinkedChannel {
  RingPlace place;
  Connection* previous = nullptr;  // null if the rank is alone
  Connection* next = nullptr;
};

class Links {
 public:
  std::span<LinkedChannel> channels() { return channels_; }
  std::span<const std::unique_ptr<Connection>> connections() const { return connections_; }

 private:
  friend Links connectRings(const std::vector<std::vector<int>>& rings, Transport& transport,
                            std::span<const Peer> peers, int rank, const Waiting& waiting);
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<LinkedChannel> channels_;
};

// `rings[c]` are the ranks of channel c in order; every rank passes the same.
Links connectRings(const std::vector<std::vector<int>>& rings, Transport& transport,
                   std::span<const Peer> peers, int rank, const Waiting& waiting);

}  // namespace xylem
