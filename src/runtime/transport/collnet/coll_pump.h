#pragma once
// What takes the steps of a queue to a network that reduces, and brings the results: step s of the queue out
// becomes step s of the queue in, once all members have brought theirs. Whoever waits for either queue runs
// it, or else the engine.
//
//   CollPump pump(out, in, std::move(link), engine);
//   SendEnd to(kReducingNetwork, out, nullptr, &pump);
//   to.label(reductionLabel(DataType::kFloat32, ReduceOp::kSum));     // of the steps that follow
//   RecvEnd from(kReducingNetwork, in, nullptr, &pump);

#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/net/net_pump.h"

namespace xylem {

// How a step is reduced, as the queue's notes have it: never 0.
constexpr std::uint64_t reductionLabel(DataType type, ReduceOp op) {
  return 1 + static_cast<std::uint64_t>(type) * kReduceOps + static_cast<std::uint64_t>(op);
}

class CollPump : public NetPump {
 public:
  // The queues' memory is the network's, too, as long as the pump lives. Only Simple steps.
  CollPump(const QueueMemory& out, const QueueMemory& in, std::unique_ptr<CollLink> link, Engine& engine);
  ~CollPump() override;
  // Steps whose results are here, and whether there are some that wait for theirs. From any thread.
  std::uint64_t reduced() const;
  bool waits() const;

 private:
  bool step() override;
  bool begin();
  bool collect();
  Drive rest(std::vector<pollfd>& fds) const override;
  bool leftBehind() const override { return done_ < queue_.control->tail.load(std::memory_order_relaxed); }

  QueueMemory in_;
  std::unique_ptr<CollLink> link_;
  NetMemory* outMemory_;
  NetMemory* inMemory_;
};

}  // namespace xylem
