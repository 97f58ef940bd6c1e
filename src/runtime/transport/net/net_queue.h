#pragma once
// One end of a queue over the network: the memory between the rank and the pump, the pump and what is still
// needed before there is one.
//
//   NetSendQueue queue(peer, stepBytes, device, network.call(device, handle));
//   while (!queue.advance(engine)) ...
//   auto end = queue.makeEnd(&memory);

#include <memory>

#include "runtime/transport/net/net_pump.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem {

// The memory of a queue within one process; pages are taken when they are first used.
class NetQueueMemory {
 public:
  explicit NetQueueMemory(const StepBytes& stepBytes);
  ~NetQueueMemory();
  NetQueueMemory(NetQueueMemory&& other) noexcept
      : queue_(other.queue_), bytes_(std::exchange(other.bytes_, 0)) {}
  NetQueueMemory& operator=(NetQueueMemory&&) = delete;
  const QueueMemory& queue() const { return queue_; }

 private:
  QueueMemory queue_;
  std::size_t bytes_;
};

// Lets SendEnd::share send from where the data lies.
class NetPeerMemory : public PeerMemory {
 public:
  bool locate(const std::byte* data, std::size_t bytes, StepNote& note) override;
  const std::byte* reach(const StepNote& note) override;
  void read(const StepNote& note, std::byte* out) override;
};

// Setter: NetCaller or NetListener; Link: what it makes.
struct NetSendQueue {
  int device = 0;
  NetQueueMemory memory;
  std::unique_ptr<NetCaller> caller;
  std::unique_ptr<NetSendPump> pump;
};

struct NetReceiveQueue {
  int device = 0;
  NetQueueMemory memory;
  std::unique_ptr<NetListener> listener;
  std::unique_ptr<NetReceivePump> pump;
  std::uint64_t announced = ~std::uint64_t{0};  // steps in all, once the peer has said goodbye
};

}  // namespace xylem
