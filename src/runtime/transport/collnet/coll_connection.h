#pragma once
// One rank's queues to and from a network that reduces (coll_network.h), on one channel: data that this rank
// sends through queue 0 comes back through queue 0, combined with the data that the other members send. A step
// of an AllGather comes back as one step per member; a ReduceScatter takes one step per member, and one comes back.
//
//   CollConnection network({link, stepBytes, "Test10/0", rank, members, {&toNext, &toPrevious}}, engine);
//   network.sender(0).label(networkLabel(Function::kAllReduce, type, op));
//   network.sender(0).send(Protocol::kSimple, data, bytes);
//   const std::byte* sum = network.receiver(0).peek(Protocol::kSimple, bytes);  // null: not yet
//
// A network need not report to its members that one of them has died. So each member watches its neighbours
// among the members over its ordinary connections to them. These carry an abort, too: the network uses only
// the queues' memory, so there is nothing to withdraw.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/net/net_queue.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

// The work of the network on a step, as the notes of the queue carry it (SendEnd::label); never 0.
constexpr std::uint64_t networkLabel(Function function, DataType type, ReduceOp op) {
  return 1 +
         (static_cast<std::uint64_t>(function) * kDataTypes + static_cast<std::uint64_t>(type)) * kReduceOps +
         static_cast<std::uint64_t>(op);
}

// A member gives or gets one step per member at once, and a queue has no more steps.
constexpr int kMostGatheringMembers = kQueueSteps;

// Hands the steps of one queue to the network and brings the results into another, once all members have sent
// theirs. The thread that waits for either queue runs the pump,
// otherwise the engine.
class CollPump : public NetPump {
 public:
  // The network uses the queues' memory as long as the pump lives. Carries Simple steps only.
  CollPump(const QueueMemory& out, const QueueMemory& in, std::unique_ptr<CollLink> link, int members,
           Engine& engine);
  ~CollPump() override;
  // The number of steps whose results have arrived, and whether any step waits for its result. Any thread
  // may call them.
  std::uint64_t reduced() const;
  bool waits() const;

 private:
  bool step() override;
  bool begin();
  bool collect();
  Drive rest(std::vector<pollfd>& fds) const override;
  bool leftBehind() const override { return done_ < queue_.control->tail.load(std::memory_order_relaxed); }

  // A call of the network: the steps that it takes from the one queue, and those that it fills in the other.
  struct Call {
    Function function = Function::kAllReduce;
    DataType type = DataType::kInt8;
    ReduceOp op = ReduceOp::kSum;
    std::uint32_t bytes = 0;  // of each step
    int takes = 1, fills = 1;
    NetRequest* request = nullptr;
  };
  Call nextCall() const;
  bool mayBegin(const Call& call) const;
  NetRequest* start(const Call& call);

  QueueMemory in_;
  const int members_;
  std::uint64_t promised_ = 0, filled_ = 0;  // steps of `in_`
  std::uint64_t begun_ = 0, ended_ = 0;      // calls
  std::array<Call, kQueueSteps> calls_{};
  std::unique_ptr<CollLink> link_;
  NetMemory* outMemory_;
  NetMemory* inMemory_;
};

struct CollEndpoint {
  std::unique_ptr<CollLink> link;
  StepBytes stepBytes{};
  std::string name;  // of network and device, as NCCL logs it after `COLLNET/`
  int rank = -1;
  int members = 1;
  std::vector<Connection*> neighbours;  // must outlive the connection
};

class CollConnection : public Connection {
 public:
  // The destructor deregisters all memory before it closes the link.
  CollConnection(CollEndpoint endpoint, Engine& engine);
  ~CollConnection() override;

  bool advance() override { return true; }
  bool ready() const override { return true; }
  std::string via(QueueUse, int) const override { return "COLLNET/" + name_; }
  // kAborted, with a text that names the neighbour, if a neighbour is lost and no results arrive.
  PeerNews news() override;

 private:
  std::string name_;
  int rank_;
  Engine& engine_;
  std::vector<Connection*> neighbours_;
  NetQueueMemory out_, in_;
  std::optional<CollPump> pump_;
  // When a neighbour was seen to be lost, or the last result arrived after that, and reduced() then.
  std::chrono::steady_clock::time_point lostAt_{};
  std::uint64_t reducedThen_ = ~std::uint64_t{0};
};

}  // namespace xylem::transport
