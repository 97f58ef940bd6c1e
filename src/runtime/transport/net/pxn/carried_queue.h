#pragma once
// The proxy rank's end of a queue that it carries into the network for another rank of its host (proxied_memory.h). Its proxy thread
// drives it.
//
//   CarriedQueue queue(std::move(memory), request, {network, engine}, std::move(slots));
//   ... = queue.drive(fds);
//   if (queue.over()) ...                                // the rank no longer needs it

#include <memory>
#include <vector>

#include "runtime/transport/net/net_queue.h"
#include "runtime/transport/net/pxn/proxied_memory.h"

namespace xylem::transport {

// Memory of this rank's GPU for the slots of a queue, which other GPUs may reach.
struct SharedSlots {
  std::shared_ptr<std::byte> memory;  // null: there is none
  DeviceHandle handle;
};

class CarriedQueue {
 public:
  struct Context {
    StepBytes stepBytes{};
    Network* network = nullptr;
    Engine* engine = nullptr;
    DeviceMemory* device = nullptr;  // of this rank's GPU, if it has one

    // Whether the network's device reads that memory itself.
    bool takesGpu(int number) const {
      return device != nullptr && (network->properties(number).pointers & device->pointers()) != 0;
    }
  };
  // Offers the slots to the rank, if there are any. It learns if the queue cannot be connected, and why. The context may lose its
  // device while drive() is not called.
  CarriedQueue(ProxiedMemory memory, const ProxyRequest& request, const Context& context,
               SharedSlots slots) noexcept;
  CarriedQueue(const CarriedQueue&) = delete;
  CarriedQueue& operator=(const CarriedQueue&) = delete;

  // Moves what can be moved, as DrivenPump::drive().
  DrivenPump::Drive drive(std::vector<pollfd>& fds) noexcept;
  // The rank may reach the slots, and there is no link yet.
  bool connectsSlots() const;
  // Steps that the rank has written were not sent yet.
  bool holdsSteps() const { return pump_ && !pump_->flushed(); }
  bool over() const { return memory_.state().over.load(std::memory_order_acquire) != 0; }
  // Gives the slots back, once it is over.
  SharedSlots takeSlots() { return std::move(slots_); }

 private:
  DrivenPump::Drive connect();
  void fail(const char* why) noexcept;

  const Context& context_;
  const ProxiedMemory memory_;
  const ProxyRequest request_;
  SharedSlots slots_;
  std::unique_ptr<NetConnector> connector_;
  std::unique_ptr<NetSendPump> pump_;
  bool failed_ = false;
};

}  // namespace xylem::transport
