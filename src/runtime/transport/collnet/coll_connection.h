#pragma once
// One rank's queues to and from a network that reduces, on one channel: what goes into queue 0 comes out of
// queue 0 combined with what the other members put into theirs.
//
//   CollConnection network({link, stepBytes, "Test10/0", rank, {&toNext, &toPrevious}}, engine);
//   network.sender(0).label(reductionLabel(type, op));
//   network.sender(0).send(Protocol::kSimple, data, bytes);  ...  network.receiver(0).peek(...)
//
// A network need not tell its members that one of them has died. So each watches its neighbours among them by
// its connections to these.

#include "runtime/transport/collnet/coll_pump.h"
#include "runtime/transport/net/net_queue.h"
#include "runtime/transport/transport.h"

namespace xylem {

struct CollEndpoint {
  std::unique_ptr<CollLink> link;
  StepBytes stepBytes{};
  std::string name;  // of network and device: after `COLLNET/` in NCCL's lines
  int rank = -1;
  std::vector<Connection*> neighbours;  // they outlive the connection
};

class CollConnection : public Connection {
 public:
  // What is registered with the link is given back before it is closed.
  CollConnection(CollEndpoint endpoint, Engine& engine);
  ~CollConnection() override;

  bool advance() override { return true; }
  bool ready() const override { return true; }
  std::string via(QueueUse, int) const override { return "COLLNET/" + name_; }
  // kAborted, with a text that names it, if a neighbour is lost while results do not come.
  PeerNews news() override;
  // There is nobody to tell that the connections to the other ranks do not tell, and the network is only ever
  // in the memory of these queues.
  void abort(int, std::string_view) noexcept override {}

 private:
  std::string name_;
  int rank_;
  Engine& engine_;
  std::vector<Connection*> neighbours_;
  NetQueueMemory out_, in_;
  std::optional<CollPump> pump_;
  // Since when a neighbour has been lost, and nothing has come.
  std::chrono::steady_clock::time_point lostAt_{};
  std::uint64_t reducedThen_ = ~std::uint64_t{0};
};

}  // namespace xylem
