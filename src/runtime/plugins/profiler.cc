#include "runtime/plugins/profiler.h"

#include <strings.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <type_traits>

#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

constexpr const char* kProfilerPlugin = "PROFILER/Plugin";
// Groups are the parents of the others.
constexpr int kOfProgram = abi::kProfileGroupApi | abi::kProfileCollApi | abi::kProfileP2pApi;
constexpr int kOurs = abi::kProfileGroup | abi::kProfileColl | abi::kProfileP2p | kOfProgram;
constexpr int kFirstWithApi = 5;
constexpr int kOfProxy = abi::kProfileProxyOp | abi::kProfileProxyStep;
constexpr int kBelowCalls = kOfProxy | abi::kProfileKernelCh;
constexpr int kFirstWithChannels = 3;
constexpr int kFirstWithTimes = 4;

// One mask for the process: plugins keep a pointer to it.
alignas(std::atomic_ref<int>::required_alignment) int profiledKinds = 0;
int kindsNow() { return std::atomic_ref<int>(profiledKinds).load(std::memory_order_relaxed); }

// NCCL's number of a function: it has one for "send or receive" before those of Send and Recv.
std::uint8_t numberOf(Function function) {
  return static_cast<std::uint8_t>(static_cast<int>(function) + (function >= Function::kSend ? 1 : 0));
}

// Names come from literals, so they end with a zero.
void describe(abi::CollEventV1& to, const ProfiledCall& call) {
  to.func = numberOf(call.function);
  to.datatype = static_cast<std::uint8_t>(call.type);
  to.op = static_cast<std::uint32_t>(call.op);
  to.algo = static_cast<std::uint8_t>(call.algorithm);
  to.proto = static_cast<std::uint8_t>(call.protocol);
  to.isCollnet = isCollnet(call.algorithm) ? 1 : 0;
  to.isNvls = isNvls(call.algorithm) ? 1 : 0;
}
template <typename Event>
requires std::is_same_v<decltype(Event::proto), const char*>
void describe(Event& to, const ProfiledCall& call) {
  to.func = name(call.function);
  to.datatype = name(call.type).data();
  to.algo = call.direct ? "Direct" : name(call.algorithm);
  to.proto = name(call.protocol);
}
void describe(abi::P2pEventV1& to, const ProfiledCall& call) {
  to.func = numberOf(call.function);
  to.datatype = static_cast<std::uint8_t>(call.type);
}
template <typename Event>
requires(std::is_same_v<decltype(Event::func), const char*> &&
         !requires(Event e) { e.proto; }) void describe(Event& to, const ProfiledCall& call) {
  to.func = name(call.function);
  to.datatype = name(call.type).data();
}

abi::Result initialize(const VersionedSymbol& table, const ProfiledRank& of, abi::LogFunction log,
                       void** context) {
  int* const mask = &profiledKinds;
  const char* const called = of.name.empty() ? nullptr : of.name.c_str();
  if (table.version >= 5)
    return static_cast<const abi::ProfilerV5*>(table.object)
        ->init(context, of.communicator, mask, called, of.nodes, of.ranks, of.rank, log);
  if (table.version == 4)
    return static_cast<const abi::ProfilerV4*>(table.object)
        ->init(context, mask, called, of.communicator, of.nodes, of.ranks, of.rank, log);
  return static_cast<const abi::Profiler*>(table.object)->init(context, mask);
}

}  // namespace

std::uint64_t hostClock() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

Profiler::Profiler(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table,
                   const ProfiledRank& rank, const std::shared_ptr<const Logger>& log)
    : library_(std::move(library)), table_(table), rank_(rank) {
  const abi::Profiler& functions = this->table();
  const std::string label = fmt::format("profiler plugin {} of {}", nameOf(functions.name), library_->name());
  requireFunctions(label, table_.version,
                   {{"init", functions.init != nullptr},
                    {"startEvent", functions.startEvent != nullptr},
                    {"stopEvent", functions.stopEvent != nullptr},
                    {"recordEventState", functions.recordEventState != nullptr},
                    {"finalize", functions.finalize != nullptr}});
  requireSuccess(initialize(table_, rank, pluginLog(log), &context_), "init", label);
  log->info(Subsystem::kInit, "{}: Using profiler plugin {} (v{})", kProfilerPlugin, nameOf(functions.name),
            table_.version);
}

Profiler::~Profiler() {
  if (context_ != nullptr) table().finalize(context_);
}

bool Profiler::listens() const { return (kindsNow() & (kOurs | kBelowCalls)) != 0; }
bool Profiler::followsCalls() const { return (kindsNow() & kBelowCalls) != 0; }
bool Profiler::listensToProxy() const { return (kindsNow() & kOfProxy) != 0; }

template <typename Event, typename Fill>
void* Profiler::startAs(abi::ProfiledKind kind, void* parent, const Fill& fill) const {
  Event event{};
  event.type = static_cast<decltype(event.type)>(kind);
  event.parentObj = parent;
  event.rank = rank_.rank;
  fill(event);
  void* handle = nullptr;
  table().startEvent(context_, &handle, &event);
  return handle;
}

template <typename Fill>
void* Profiler::start(abi::ProfiledKind kind, void* parent, const Fill& fill) const {
  switch (table_.version) {
    case 1:
      return startAs<abi::ProfiledEventV1>(kind, parent, fill);
    case 2:
      return startAs<abi::ProfiledEventV2>(kind, parent, fill);
    case 3:
      return startAs<abi::ProfiledEventV3>(kind, parent, fill);
    case 4:
      return startAs<abi::ProfiledEventV4>(kind, parent, fill);
    default:
      return startAs<abi::ProfiledEventV5>(kind, parent, fill);
  }
}

void* Profiler::startGroup() const {
  if (table_.version < kFirstWithApi) return start(abi::kProfileGroup, nullptr, [](auto&) {});
  void* const group = start(abi::kProfileGroupApi, nullptr, [](auto& event) {
    if constexpr (requires { event.groupApi; }) event.groupApi = {.graphCaptured = false, .groupDepth = 1};
  });
  for (const abi::ProfiledState state : {abi::kGroupStartApiStop, abi::kGroupEndApiStart})
    if (group != nullptr) table().recordEventState(group, state, nullptr);
  return group;
}

void* Profiler::startApiCall(void* group, const ProfiledCall& call) const {
  if (table_.version < kFirstWithApi) return nullptr;
  const bool p2p = isPointToPoint(call.function);
  return start(p2p ? abi::kProfileP2pApi : abi::kProfileCollApi, group, [&](auto& event) {
    if constexpr (requires { event.collApi; }) {
      if (p2p)
        event.p2pApi = {name(call.function), call.count, name(call.type).data(), nullptr, false};
      else
        event.collApi = {name(call.function), call.count, name(call.type).data(), call.peer, nullptr, false};
    }
  });
}

void* Profiler::startCall(void* parent, const ProfiledCall& call) const {
  if (isPointToPoint(call.function))
    return start(abi::kProfileP2p, parent, [&](auto& event) {
      event.p2p = {};
      if constexpr (requires { event.p2p.commHash; }) {
        event.p2p.name = "";
        event.p2p.commHash = rank_.communicator;
      } else {
        event.p2p.nChannels = static_cast<std::uint8_t>(call.channels);
      }
      event.p2p.buff = call.send != nullptr ? const_cast<void*>(call.send) : call.receive;
      event.p2p.count = call.count;
      event.p2p.peer = call.peer;
      describe(event.p2p, call);
    });
  return start(abi::kProfileColl, parent, [&](auto& event) {
    event.coll = {};
    if constexpr (requires { event.coll.commHash; }) {
      event.coll.name = "";
      event.coll.commHash = rank_.communicator;
    }
    event.coll.seqNumber = collectives_;
    event.coll.sendBuff = call.send;
    event.coll.recvBuff = call.receive;
    event.coll.count = call.count;
    event.coll.root = call.peer;
    if constexpr (requires { event.coll.trafficBytes; }) event.coll.trafficBytes = call.bytes;
    event.coll.nMaxChannels = static_cast<std::uint8_t>(call.channels);
    describe(event.coll, call);
  });
}

bool Profiler::followsChannels() const {
  return table_.version >= kFirstWithChannels && (kindsNow() & abi::kProfileKernelCh) != 0;
}

void* Profiler::startChannel(void* call, int channel, std::uint64_t time) const {
  if (call == nullptr || !followsChannels()) return nullptr;
  return start(abi::kProfileKernelCh, call, [&](auto& event) {
    event.kernelCh = {};
    event.kernelCh.channelId = static_cast<std::uint8_t>(channel);
    if constexpr (requires { event.kernelCh.pTimer; }) event.kernelCh.pTimer = time;
  });
}

void Profiler::stopChannel(void* event, std::uint64_t time) const {
  if (event == nullptr) return;
  if (table_.version >= kFirstWithTimes) {
    abi::KernelChEnd end{time};
    table().recordEventState(event, abi::kKernelChStop, &end);
  }
  stop(event);
}

void* Profiler::startProxyOp(const ProfiledPart& part) const {
  return start(abi::kProfileProxyOp, part.call, [&](auto& event) {
    event.proxyOp = {.pid = getpid(),
                     .channelId = static_cast<std::uint8_t>(part.channel),
                     .peer = part.peer,
                     .nSteps = part.steps,
                     .chunkSize = static_cast<int>(part.stepBytes),
                     .isSend = part.sends ? 1 : 0};
  });
}

void* Profiler::startProxyStep(void* part, int step) const {
  if (part == nullptr || (kindsNow() & abi::kProfileProxyStep) == 0) return nullptr;
  return start(abi::kProfileProxyStep, part, [&](auto& event) { event.proxyStep = {step}; });
}

void* Profiler::startProxyControl() const {
  if ((kindsNow() & abi::kProfileProxyCtrl) == 0) return nullptr;
  return start(abi::kProfileProxyCtrl, nullptr, [](auto&) {});
}

void Profiler::record(void* event, abi::ProfiledState state, abi::ProxyOpProgress progress) const {
  if (event == nullptr) return;
  if (table_.version < 4 || state > abi::kProxyOpRecvDone)
    table().recordEventState(event, state, &progress);
  else if (state == abi::kProxyOpSendPosted || state == abi::kProxyOpRecvPosted)
    table().recordEventState(event, abi::kProxyOpInProgress, nullptr);
}

void Profiler::stop(void* event) const {
  if (event != nullptr) table().stopEvent(event);
}

ProfiledGroup::ProfiledGroup(Profiler& profiler)
    : profiler_(profiler), group_(profiler.listens() ? profiler.startGroup() : nullptr) {}

ProfiledGroup::~ProfiledGroup() {
  for (void* call : calls_) profiler_.stop(call);
  profiler_.stop(group_);
}

void* ProfiledGroup::start(const ProfiledCall& call) {
  const abi::ProfiledKind kind = isPointToPoint(call.function) ? abi::kProfileP2p : abi::kProfileColl;
  void* event = nullptr;
  // Events on channels and on the network need the call's event as their parent.
  const bool ofCall = (kindsNow() & (kind | kBelowCalls)) != 0;
  void* const asked =
      (kindsNow() & kOfProgram) != 0 || ofCall ? profiler_.startApiCall(group_, call) : nullptr;
  if (ofCall) event = calls_.emplace_back(profiler_.startCall(asked == nullptr ? group_ : asked, call));
  if (asked != nullptr) calls_.push_back(asked);  // stops after what it became
  // Count even if no plugin listens: the numbers are the same on all ranks.
  if (!isPointToPoint(call.function)) ++profiler_.collectives_;
  return event;
}

std::unique_ptr<Profiler> findProfiler(const Settings& settings, const ProfiledRank& rank,
                                       const std::shared_ptr<const Logger>& log) {
  const std::string& wanted = settings.text(Setting::kProfilerPlugin);
  if (strcasecmp(wanted.c_str(), "none") == 0) return nullptr;
  auto library = PluginLibrary::find({kProfilerPlugin, kProfilerPrefix, wanted}, *log);
  if (!library) return nullptr;
  const VersionedSymbol table =
      library->newest(abi::kProfilerSymbol, abi::kNewestProfiler, abi::kOldestProfiler);
  if (table.object == nullptr) {
    log->info(Subsystem::kInit, "{}: {} has no {}{} to {}{}", kProfilerPlugin, library->name(),
              abi::kProfilerSymbol, abi::kOldestProfiler, abi::kProfilerSymbol, abi::kNewestProfiler);
    return nullptr;
  }
  try {
    return std::make_unique<Profiler>(std::move(library), table, rank, log);
  } catch (const Error& error) {
    log->warn("{}: refused: {}", kProfilerPlugin, error.what());
    return nullptr;
  }
}

}  // namespace xylem::plugins
