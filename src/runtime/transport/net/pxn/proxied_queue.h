#pragma once
// The rank's end of a queue that its proxy rank carries (proxied_memory.h).
//
//   ProxiedQueue queue(proxyRank, {.receiver = 3, .device = 1, .stepBytes = stepBytes, .handle = handle});
//   while (!queue.connected()) queue.advance();          // throws if the proxy rank cannot
//   SendEnd end(3, queue.queue(), nullptr, &queue);

#include "runtime/transport/net/pxn/proxied_memory.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/session/peer_session.h"

namespace xylem::transport {

class ProxyRank;

// As a pump it moves nothing: it wakes the proxy rank's thread.
class ProxiedQueue final : public Pump {
 public:
  // `device`: of this rank's GPU; null: its device is a host device.
  ProxiedQueue(ProxyRank& proxy, const ProxyRequest& request, DeviceMemory* device = nullptr);
  // The proxy rank sends nothing more of this queue.
  ~ProxiedQueue() override;
  ProxiedQueue(const ProxiedQueue&) = delete;
  ProxiedQueue& operator=(const ProxiedQueue&) = delete;

  // Where its slots lie is known once it is connected.
  const QueueMemory& queue() const { return queue_; }
  bool onDevice() const { return slots_ != nullptr; }
  // Goes on with setting up. Throws if the proxy rank could not connect, or is gone.
  void advance();
  bool connected() const;
  // Returns whether the network has taken everything that was committed, or never will.
  bool flushed() const;
  // Whether the proxy rank will send what is in the queue, or why not. Makes a system call if there is anything.
  PeerNews news() const;

  bool pump() noexcept override;
  void check() const override;

 private:
  bool failed() const;
  void answer();
  std::string reason() const;
  PeerNews newsOfProxy() const;

  ProxyRank& proxy_;
  const ProxyRequest request_;
  DeviceMemory* const device_;
  ProxiedMemory memory_;
  std::shared_ptr<std::byte> slots_;  // in the memory of the proxy rank's GPU
  QueueMemory queue_;
  bool asked_ = false;
};

}  // namespace xylem::transport
