#pragma once
// The boards of a communicator whose ranks are all on one host and reach each other's memory: connected when
// the first operation needs them, and then the exchange that runs over them.
//
//   if (Boards::possible(...)) boards.emplace(...);
//   if (boards.advance()) boards.exchange().start(work);       // all ranks do

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/collectives/direct_exchange.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/join/transports.h"

namespace xylem {

class Boards {
 public:
  // `crowded`: there are more ranks than cores for them; the same on all of them.
  Boards(int rank, std::span<const PeerInfo> peers, bool crowded, const Transports& transports,
         PeerWatch& watch);

  // Whether there can be boards; the same answer on all ranks.
  static bool possible(std::span<const PeerInfo> peers, const NetChoice& choice);

  bool ready() const { return exchange_.has_value(); }
  // Goes on with connecting, without waiting; true once all boards are there.
  bool advance() { return exchange_.has_value() || connect(); }
  // After advance() said false: the rank whose board is missing.
  int waitsFor() const { return waitsFor_; }
  DirectExchange& exchange() { return *exchange_; }

 private:
  bool connect();

  const int rank_;
  const int ranks_;
  const bool oneProcess_;
  const bool crowded_;
  const Transports& transports_;
  PeerWatch& watch_;
  std::shared_ptr<SharedMemory> memory_;                  // of this rank's board
  std::vector<std::unique_ptr<Connection>> connections_;  // by rank
  int waitsFor_ = -1;
  std::optional<DirectExchange> exchange_;
};

}  // namespace xylem
