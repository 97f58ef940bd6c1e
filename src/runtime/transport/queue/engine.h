#pragma once
// What moves the queues of the network while nobody else does: the proxy thread, seen from the transport.
//
//   engine.add(pump);      // from now on the engine drives it when its users do not
//   engine.wake();         // a user left something behind and may not come back
//   engine.remove(pump);   // returns once the engine is out of it
//   engine.observe(observer);   // is told when it has something to do and when it sleeps

#include <poll.h>

#include <cstdint>
#include <vector>

#include "runtime/transport/net/pump.h"

namespace xylem {

class DrivenPump : public Pump {
 public:
  enum class Drive {
    kMoved,  // drive again
    kSleep,  // nothing to do until one of the descriptors is ready, or a user comes
    kLook,   // no descriptor says when there is something to do: look again soon
  };
  // As pump(), by the engine. If nothing moved, adds what to sleep on.
  virtual Drive drive(std::vector<pollfd>& fds) noexcept = 0;
  // How often users have pumped: as long as it changes, the engine stays away. Changes before anything that a
  // user then wakes the engine for, and is read and written sequentially consistent.
  virtual std::uint64_t attention() const noexcept = 0;
};

// What the engine has come to.
enum class EngineState { kIdle, kActive, kAsleep, kAwake };

class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  // By the engine's thread.
  virtual void turned(EngineState state) noexcept = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void add(DrivenPump& pump) = 0;
  virtual void remove(DrivenPump& pump) noexcept = 0;
  // Cheap unless the engine sleeps for good.
  virtual void wake() noexcept = 0;
  // `observer` must outlive the engine. From any thread.
  virtual void observe(EngineObserver& /*observer*/) {}
};

}  // namespace xylem
