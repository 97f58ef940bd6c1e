#pragma once
// Sends and receives: how each is cut into parts, and the connections to the peers, made when they are first
// needed. Making one never waits here: the launch that uses it goes on with it.
//
//   Transfers transfers(...);
//   for (const TransferPart& part : transfers.cut(operations)) ...

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/collectives/transfer.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/join/transports.h"
#include "planner/plan/plan.h"
#include "planner/tuning/p2p_split.h"

namespace xylem {

// What goes through one queue, or from a rank to itself.
struct TransferPart {
  const CommOperation* operation = nullptr;  // of those that were cut
  std::size_t place = 0;                     // of this one among them
  bool sends = false;
  Connection* connection = nullptr;  // null: to itself
  int queue = 0;                     // of the connection; its end is still to be put into `work`
  // Parts of one queue and direction have the same, and keep their order; no others have.
  std::size_t key = 0;
  std::size_t begin = 0;  // in the operation's buffer
  TransferWork work;

  // Its work with the end of its queue, which exists once the connection is made.
  TransferWork connected() const;
};

class Transfers {
 public:
  // `channels`: those that one pair of ranks uses at most. `checked`: those of no bytes get a part, too.
  Transfers(const Plan& plan, const NetChoice& choice, int rank, int channels, bool checked,
            const Settings& settings, const Transports& transports, PeerWatch& watch, const Logger& log);

  // The parts of the sends and receives among the operations; what is returned holds until the next call.
  // Throws ncclInvalidUsage for sends to oneself without a receive of the same size, or the other way round.
  std::span<const TransferPart> cut(std::span<const CommOperation> operations);
  // Whether these parts go through a queue each.
  bool apart() const { return apart_; }
  // Goes on with connecting what these parts need, without waiting. Once it is true, their work is complete.
  bool connect() { return connected_ || goOnConnecting(); }

 private:
  // What decides how an operation is cut.
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
  P2pSplit split(std::uint64_t bytes, int peer) const;
  Connection& to(int peer);
  void cutOne(const CommOperation& operation, std::size_t place);
  void pairWithSelf();

  const Plan& plan_;
  const NetChoice& choice_;
  const int rank_;
  const bool checked_;
  P2pJob job_;
  const Transports& transports_;
  PeerWatch& watch_;
  const Logger& log_;
  std::map<int, std::unique_ptr<Connection>> connections_;
  std::vector<TransferPart> parts_;
  std::vector<Shape> shapes_;      // of what they are parts of; empty: it is not to be used again
  std::vector<std::size_t> keys_;  // of the parts
  bool apart_ = true;
  bool connected_ = false;
  std::vector<const CommOperation*> sendsToSelf_, receivesFromSelf_;
};

}  // namespace xylem
