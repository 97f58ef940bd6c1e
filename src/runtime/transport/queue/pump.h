#pragma once
// Pumps move the steps of queues that lead over a network. A Pump belongs to one queue; the
// threads that use the queue call it. An Engine (the proxy thread of a rank) drives all pumps whose queues
// no thread is using at the moment. Queues in shared memory have neither.
//
//   engine.add(pump);        // from now on the engine drives the pump when its users do not
//   pump.pump();             // a user moves what can be moved without waiting
//   engine.wake();           // a user leaves work behind and may not come back
//   engine.remove(pump);     // returns once the engine no longer uses the pump

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xylem::transport {

// The memory into which a reader wants the payload of the message that it waits for, so that the network
// need not put it into a slot first. Valid for one call. Payload that arrives between two calls goes to the
// slot, at the same offset, and so does the rest of that message from then on.
//
//   ReceiveBuffer buffer{out, bytes};
//   while (!receiver.testInto(request, buffer)) ...
//   // The first buffer.filled bytes are in `out`, the others in the slot:
//   std::memcpy(out + buffer.filled, slot + buffer.filled, bytes - buffer.filled);
struct ReceiveBuffer {
  std::byte* data = nullptr;  // null: the payload goes to the slot
  std::size_t bytes = 0;      // of the whole message; a message of another length goes to the slot
  std::size_t filled = 0;     // bytes already written to `data`; kept from call to call
};

// Receives events about the steps of a queue. The thread that moves the steps calls it, one thread at a
// time.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // The sender has handed the step to the network, or the receiver has offered the network a buffer of this
  // many bytes for it.
  virtual void posted(std::uint64_t step, std::size_t bytes) noexcept = 0;
  // The step has been sent or received.
  virtual void moved(std::uint64_t step, std::size_t bytes) noexcept = 0;
};

class Pump {
 public:
  virtual ~Pump() = default;
  // Moves what can be moved without waiting. Returns whether anything moved. Any thread may call it at any
  // time; it returns false at once if another thread is moving.
  virtual bool pump() noexcept = 0;
  // Like pump(), for a reader that waits for this step only. Steps behind it are left in the network, and so
  // do not push its payload out of the caches. The payload may go to the buffer, if that has memory.
  virtual bool pumpFor(std::uint64_t /*step*/, ReceiveBuffer& /*buffer*/) noexcept { return pump(); }
  // Throws, naming the peer, if nothing will ever move again.
  virtual void check() const {}
  // Reports events to `observer`, which must outlive the pump, from now on. Returns false if this pump
  // reports none. Any thread may call it.
  virtual bool observe(StepObserver& /*observer*/) { return false; }
};

class DrivenPump : public Pump {
 public:
  enum class Drive {
    kMoved,      // something moved: drive again at once
    kSleep,      // nothing to do until one of the descriptors is ready or a user pumps
    kPollAgain,  // work is left that no descriptor reports: drive again after a moment
  };
  // Like pump(), called by the engine. If nothing moved, adds the descriptors to sleep on.
  virtual Drive drive(std::vector<pollfd>& fds) noexcept = 0;
  // Counts the calls by users. The engine leaves the pump alone while the counter changes. A user increments
  // it before it wakes the engine; both accesses are sequentially consistent, so that no wake-up is lost.
  virtual std::uint64_t attention() const noexcept = 0;
};

enum class EngineState { kIdle, kActive, kAsleep, kAwake };

class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  // Called by the engine's thread when its state changes.
  virtual void turned(EngineState state) noexcept = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void add(DrivenPump& pump) = 0;
  virtual void remove(DrivenPump& pump) noexcept = 0;
  // Costs a system call only if the engine sleeps.
  virtual void wake() noexcept = 0;
  // An eventfd: who writes to it wakes the engine, also in another process.
  virtual int bell() const = 0;
  // Reports state changes to `observer` from now on, or no longer if that is null; the last one may then be destroyed. Any thread may
  // call it.
  virtual void observe(EngineObserver* observer) = 0;
};

}  // namespace xylem::transport
