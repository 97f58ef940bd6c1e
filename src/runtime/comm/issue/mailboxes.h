#pragma once
// The mailboxes of a communicator whose ranks are all on one host and can map each other's memory. They are
// connected when the first operation needs them; the exchange then runs over them.
//
//   if (Mailboxes::possible(peers, choice)) mailboxes.emplace(rank, peers, false, copies, shared, transports, watch, tell);
//   if (mailboxes->advance()) mailboxes->exchange().start(work);       // on all ranks

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/collectives/direct_exchange.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/comm/join/transports.h"
#include "runtime/comm/watch/peer_watch.h"

namespace xylem::comm {

class Mailboxes {
 public:
  // `oversubscribed`: there are more ranks than cores for them. It and `copies` are the same on all ranks.
  Mailboxes(int rank, std::span<const PeerInfo> peers, bool oversubscribed,
            const transport::CopyChoices& copies, const collectives::SharedWork& shared,
            const Transports& transports, PeerWatch& watch, transport::TellChange tell);

  // Whether the ranks can have mailboxes; the same answer on all ranks.
  static bool possible(std::span<const PeerInfo> peers, const connect::NetChoice& choice);

  bool ready() const { return exchange_.has_value(); }
  // Goes on with connecting, without waiting. Returns true once all mailboxes are connected.
  bool advance() { return exchange_.has_value() || connect(); }
  // The rank whose mailbox is missing, if advance() returned false.
  int waitsFor() const { return waitsFor_; }
  collectives::DirectExchange& exchange() { return *exchange_; }

 private:
  bool connect();

  const int rank_;
  const int ranks_;
  const bool oneProcess_;
  const bool oversubscribed_;
  const transport::CopyChoices copies_;
  const collectives::SharedWork shared_;
  const Transports& transports_;
  PeerWatch& watch_;
  const transport::TellChange tell_;
  std::shared_ptr<transport::SharedMemory> memory_;                  // of this rank's mailbox
  std::vector<std::unique_ptr<transport::Connection>> connections_;  // by rank
  int waitsFor_ = -1;
  std::optional<collectives::DirectExchange> exchange_;
};

}  // namespace xylem::comm
