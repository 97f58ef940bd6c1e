// The test's profiler plugin: one source, compiled once per version of the table (VERSION). It writes a line
// per call, and gives events numbers:
//
//   start 2 group of 0 / start 3 coll AllReduce 1000 float of 2 seq 0 / stop 3
//   start 4 of 3 rank 0 op peer 1 channel 0 steps 2 sends / state 4 0 512 1 / start 5 of 4 rank 0 step 0
//
// A call on a channel has its times, in version 3 zeros: `start 6 of 3 rank 0 channel 1 at 500`, `state 6 22 900 0`. If the plugin
// wants such events, its lines of calls end with their number, `on 2`.
//
// TEST_PROFILER_MASK: the kinds of events that it wants (all but calls on channels). TEST_PROFILER_INIT: the result of init.

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/plugins/profiler_abi.h"

namespace {

namespace abi = xylem::plugins::abi;

constexpr int kUsualMask = 0xfff & ~abi::kProfileKernelCh;

std::mutex mutex;
std::string lines;
std::uintptr_t events = 0;
int contexts = 0;

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

[[maybe_unused]] std::string text(const char* word) { return word; }
[[maybe_unused]] std::string text(std::uint8_t number) { return std::to_string(number); }
std::string number(void* event) { return std::to_string(reinterpret_cast<std::uintptr_t>(event)); }

// Fails if the communicator's name is not the one that the test sets.
[[maybe_unused]] bool isCalled(const char* name) {
  const char* const wanted = std::getenv("TEST_PROFILER_NAME");
  return wanted == nullptr || (name != nullptr && std::string(name) == wanted);
}

abi::Result begin(void** context, int* mask) {
  if (const int result = setting("TEST_PROFILER_INIT", 0); result != 0) return result;
  const std::lock_guard lock(mutex);
  // Read by threads of other communicators.
  std::atomic_ref(*mask).store(setting("TEST_PROFILER_MASK", kUsualMask), std::memory_order_relaxed);
  *context = &contexts;
  ++contexts;
  return abi::kSuccess;
}

#if VERSION == 1
using Event = abi::ProfiledEventV1;
#elif VERSION == 2
using Event = abi::ProfiledEventV2;
#elif VERSION == 3
using Event = abi::ProfiledEventV3;
#elif VERSION == 4
using Event = abi::ProfiledEventV4;
#else
using Event = abi::ProfiledEventV5;
#endif

#if VERSION < 4
constexpr abi::ProfilerInit init = begin;
using Table = abi::Profiler;
#elif VERSION == 4
abi::Result init(void** context, int* mask, const char* name, std::uint64_t, int nodes, int ranks, int rank,
                 abi::LogFunction log) {
  return log != nullptr && nodes <= ranks && rank < ranks && isCalled(name) ? begin(context, mask)
                                                                            : abi::kInternalError;
}
using Table = abi::ProfilerV4;
#else
abi::Result init(void** context, std::uint64_t, int* mask, const char* name, int nodes, int ranks, int rank,
                 abi::LogFunction log) {
  return log != nullptr && nodes <= ranks && rank < ranks && isCalled(name) ? begin(context, mask)
                                                                            : abi::kInternalError;
}
using Table = abi::ProfilerV5;
#endif

[[maybe_unused]] std::string onChannels(int channels) {
  return (setting("TEST_PROFILER_MASK", kUsualMask) & abi::kProfileKernelCh) == 0
             ? ""
             : " on " + std::to_string(channels);
}
template <typename Call>
std::string channelsOf(const Call& call) {
  if constexpr (requires { call.nMaxChannels; }) return onChannels(call.nMaxChannels);
  if constexpr (requires { call.nChannels; }) return onChannels(call.nChannels);
  return "";
}
template <typename KernelCh>
std::string timeOf(const KernelCh& work) {
  if constexpr (requires { work.pTimer; }) return std::to_string(work.pTimer);
  return "0";
}

std::string describe(const Event& event) {
  switch (event.type) {
    case abi::kProfileGroup:
      return "group";
    case abi::kProfileColl:
      return "coll " + text(event.coll.func) + " " + std::to_string(event.coll.count) + " " +
             text(event.coll.datatype) + " seq " + std::to_string(event.coll.seqNumber) +
             channelsOf(event.coll);
    case abi::kProfileP2p:
      return "p2p " + text(event.p2p.func) + " " + std::to_string(event.p2p.count) + " " +
             text(event.p2p.datatype) + " peer " + std::to_string(event.p2p.peer) + channelsOf(event.p2p);
    case abi::kProfileProxyOp:
      return "op peer " + std::to_string(event.proxyOp.peer) + " channel " +
             std::to_string(event.proxyOp.channelId) + " steps " + std::to_string(event.proxyOp.nSteps) +
             (event.proxyOp.isSend != 0 ? " sends" : " receives");
    case abi::kProfileProxyStep:
      return "step " + std::to_string(event.proxyStep.step);
    case abi::kProfileProxyCtrl:
      return "control";
    case abi::kProfileKernelCh:
      return "channel " + std::to_string(event.kernelCh.channelId) + " at " + timeOf(event.kernelCh);
#if VERSION >= 5
    case abi::kProfileGroupApi:
      return "group call";
    case abi::kProfileCollApi:
      return "coll call " + text(event.collApi.func) + " " + std::to_string(event.collApi.count);
    case abi::kProfileP2pApi:
      return "p2p call " + text(event.p2pApi.func) + " " + std::to_string(event.p2pApi.count);
#endif
    default:
      return "unexpected " + std::to_string(event.type);
  }
}

abi::Result startEvent(void* context, void** event, void* description) {
  const std::lock_guard lock(mutex);
  const Event& described = *static_cast<const Event*>(description);
  *event = reinterpret_cast<void*>(++events);
  lines += (context == &contexts ? "start " : "stray ") + number(*event) + " of " +
           number(described.parentObj) + " rank " + std::to_string(described.rank) + " " +
           describe(described) + "\n";
  return abi::kSuccess;
}

abi::Result stopEvent(void* event) {
  const std::lock_guard lock(mutex);
  lines += "stop " + number(event) + "\n";
  return abi::kSuccess;
}

abi::Result recordEventState(void* event, int state, void* arguments) {
  const std::lock_guard lock(mutex);
  if (state == abi::kKernelChStop) {
    const auto& end = *static_cast<const abi::KernelChEnd*>(arguments);
    lines +=
        "state " + number(event) + " " + std::to_string(state) + " " + std::to_string(end.pTimer) + " 0\n";
    return abi::kSuccess;
  }
  const abi::ProxyOpProgress none{};
  const auto& progress = arguments == nullptr ? none : *static_cast<const abi::ProxyOpProgress*>(arguments);
  lines += "state " + number(event) + " " + std::to_string(state) + " " + std::to_string(progress.bytes) +
           " " + std::to_string(progress.steps) + "\n";
  return abi::kSuccess;
}

abi::Result finalize(void*) {
  const std::lock_guard lock(mutex);
  --contexts;
  return abi::kSuccess;
}

}  // namespace

#define JOINED(a, b) a##b
#define SYMBOL(version) JOINED(ncclProfiler_v, version)

extern "C" {
__attribute__((visibility("default")))
Table SYMBOL(VERSION) = {"TestProfiler", init, startEvent, stopEvent, recordEventState, finalize};
// Return the lines since the last call, and the number of communicators that use the plugin.
__attribute__((visibility("default"))) const char* testProfilerLines() {
  static std::string taken;
  const std::lock_guard lock(mutex);
  taken = std::exchange(lines, {});
  return taken.c_str();
}
__attribute__((visibility("default"))) int testProfilersLiving() {
  const std::lock_guard lock(mutex);
  return contexts;
}
}
