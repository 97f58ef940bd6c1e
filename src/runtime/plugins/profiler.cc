#include "runtime/plugins/profiler.h"

#include <strings.h>
#include <unistd.h>

#include <atomic>

#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

constexpr const char* kProfilerPlugin = "PROFILER/Plugin";
// Groups are the parents of the others.
constexpr int kOurs = abi::kProfileGroup | abi::kProfileColl | abi::kProfileP2p;
constexpr int kOfProxy = abi::kProfileProxyOp | abi::kProfileProxyStep;

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
void describe(abi::CollEventV2& to, const ProfiledCall& call) {
  to.func = name(call.function);
  to.datatype = name(call.type).data();
  to.algo = call.direct ? "Direct" : name(call.algorithm);
  to.proto = name(call.protocol);
}
void describe(abi::P2pEventV1& to, const ProfiledCall& call) {
  to.func = numberOf(call.function);
  to.datatype = static_cast<std::uint8_t>(call.type);
}
void describe(abi::P2pEventV2& to, const ProfiledCall& call) {
  to.func = name(call.function);
  to.datatype = name(call.type).data();
}

}  // namespace

Profiler::Profiler(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table,
                   const ProfiledRank& rank, const std::shared_ptr<const Logger>& log)
    : library_(std::move(library)), table_(table), rank_(rank) {
  const abi::Profiler& functions = this->table();
  if (functions.init == nullptr || functions.startEvent == nullptr || functions.stopEvent == nullptr ||
      functions.recordEventState == nullptr || functions.finalize == nullptr)
    throw Error(ResultCode::kInvalidUsage, "the profiler of {} lacks functions", library_->name());
  if (const abi::Result result = functions.init(&context_, &profiledKinds); result != abi::kSuccess)
    throw Error(ResultCode::kSystemError, "the profiler of {} could not start: {}", library_->name(),
                resultText(result));
  log->info(Subsystem::kInit, "{}: Using profiler plugin {} (v{})", kProfilerPlugin,
            functions.name == nullptr ? "without a name" : functions.name, table_.version);
}

Profiler::~Profiler() { table().finalize(context_); }

bool Profiler::listens() const { return (kindsNow() & (kOurs | kOfProxy)) != 0; }
bool Profiler::listensToProxy() const { return (kindsNow() & kOfProxy) != 0; }

template <typename Event, typename Fill>
void* Profiler::startAs(abi::ProfiledKind kind, void* parent, const Fill& fill) const {
  Event event{};
  event.type = static_cast<std::uint8_t>(kind);
  event.parentObj = parent;
  event.rank = rank_.rank;
  fill(event);
  void* handle = nullptr;
  table().startEvent(context_, &handle, &event);
  return handle;
}

template <typename Fill>
void* Profiler::start(abi::ProfiledKind kind, void* parent, const Fill& fill) const {
  return table_.version == 1 ? startAs<abi::ProfiledEventV1>(kind, parent, fill)
                             : startAs<abi::ProfiledEventV2>(kind, parent, fill);
}

void* Profiler::startGroup() const {
  return start(abi::kProfileGroup, nullptr, [](auto&) {});
}

void* Profiler::startCall(void* group, const ProfiledCall& call) const {
  if (isPointToPoint(call.function))
    return start(abi::kProfileP2p, group, [&](auto& event) {
      event.p2p = {};
      event.p2p.name = "";
      event.p2p.commHash = rank_.communicator;
      event.p2p.buff = call.send != nullptr ? const_cast<void*>(call.send) : call.receive;
      event.p2p.count = call.count;
      event.p2p.peer = call.peer;
      describe(event.p2p, call);
    });
  return start(abi::kProfileColl, group, [&](auto& event) {
    event.coll = {};
    event.coll.name = "";
    event.coll.commHash = rank_.communicator;
    event.coll.seqNumber = collectives_;
    event.coll.sendBuff = call.send;
    event.coll.recvBuff = call.receive;
    event.coll.count = call.count;
    event.coll.root = call.peer;
    event.coll.trafficBytes = call.bytes;
    event.coll.nMaxChannels = static_cast<std::uint8_t>(call.channels);
    describe(event.coll, call);
  });
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
  if (event != nullptr) table().recordEventState(event, state, &progress);
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
  // Parts of a call on the network need the call's event as their parent.
  if ((kindsNow() & (kind | kOfProxy)) != 0) event = calls_.emplace_back(profiler_.startCall(group_, call));
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
    log->info(Subsystem::kInit, "{}: refused: {}", kProfilerPlugin, error.what());
    return nullptr;
  }
}

}  // namespace xylem::plugins
