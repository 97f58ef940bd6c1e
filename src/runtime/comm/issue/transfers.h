#pragma once
// Sends and receives: cuts each into parts, one per queue, and makes the connections to the peers when they
// are first needed. Making a connection never waits here: the launch that uses it goes on with it.
//
//   for (const TransferPart& part : transfers.cut(operations)) ...

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/tuning/p2p_split.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/work_item.h"
#include "runtime/comm/join/transports.h"
#include "runtime/comm/watch/peer_watch.h"

namespace xylem::comm {

// The part of a send or receive that goes through one queue, or from a rank to itself.
struct TransferPart {
  std::size_t place = 0;  // the index of the send or receive among the operations that were cut
  // Parts with the same key go through the same queue in the same direction, in this order.
  std::size_t key = 0;
  TransferPath path;
};

class Transfers {
 public:
  // `channels`: how many a pair of ranks uses at most. `checked`: transfers of no bytes get a part, too.
  Transfers(const plan::Plan& plan, const connect::NetChoice& choice, int rank, int channels, bool checked,
            const Settings& settings, const Transports& transports, PeerWatch& watch, const Logger& log,
            const collectives::SharedWork& shared);

  // The parts of the sends and receives among the operations; valid until the next call. Throws
  // ncclInvalidUsage for sends to oneself without a receive of the same size, and for such receives.
  std::span<const TransferPart> cut(std::span<const CommOperation> operations);
  // Whether each of these parts has a queue to itself.
  bool apart() const { return apart_; }
  // Goes on with connecting what these parts need, without waiting. Returns true once all have their queues.
  bool connect() { return connected_ || goOnConnecting(); }

 private:
  // Everything that decides how an operation is cut.
  struct Shape {
    Function function;
    int peer;
    std::size_t bytes;
    bool operator==(const Shape&) const = default;
  };

  static Shape shapeOf(const CommOperation& operation);
  bool repeats(std::span<const CommOperation> operations) const;
  bool goOnConnecting();
  void cutAnew(std::span<const CommOperation> operations);
  tuning::P2pSplit split(std::uint64_t bytes, int peer) const;
  transport::Connection& to(int peer);
  void cutOne(const CommOperation& operation, std::size_t place);
  void pairWithSelf(std::span<const CommOperation> operations);

  const plan::Plan& plan_;
  const connect::NetChoice& choice_;
  const int rank_;
  const bool checked_;
  tuning::P2pJob job_;
  const Transports& transports_;
  PeerWatch& watch_;
  const Logger& log_;
  const collectives::SharedWork* const shared_;  // null: the rank has no helpers
  std::map<int, std::unique_ptr<transport::Connection>> connections_;
  std::vector<TransferPart> parts_;
  std::vector<Shape> shapes_;      // of the operations that were cut last; empty: their parts are not reused
  std::vector<std::size_t> keys_;  // of the parts, sorted
  bool apart_ = true;
  bool connected_ = false;
  std::vector<const CommOperation*> sendsToSelf_, receivesFromSelf_;
};

}  // namespace xylem::comm
