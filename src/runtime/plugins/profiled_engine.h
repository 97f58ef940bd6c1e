#pragma once
// What a profiler is told of the progress thread (ProxyCtrl events): when it finds something to move, when it
// does not, when it goes to sleep and when it wakes up. Each is an event of its own, over at once.

#include "runtime/plugins/profiler.h"
#include "runtime/transport/queue/engine.h"

namespace xylem {

class ProfiledEngine final : public EngineObserver {
 public:
  explicit ProfiledEngine(const Profiler& profiler) : profiler_(profiler) {}
  void turned(EngineState state) noexcept override {
    void* const event = profiler_.startProxyControl();
    profiler_.record(event, stateOf(state));
    profiler_.stop(event);
  }

 private:
  static abi::ProfiledState stateOf(EngineState state) {
    switch (state) {
      case EngineState::kActive:
        return abi::kProxyCtrlActive;
      case EngineState::kIdle:
        return abi::kProxyCtrlIdle;
      case EngineState::kAsleep:
        return abi::kProxyCtrlSleep;
      case EngineState::kAwake:
        return abi::kProxyCtrlWakeup;
    }
    return abi::kProxyCtrlIdle;
  }

  const Profiler& profiler_;
};

}  // namespace xylem
