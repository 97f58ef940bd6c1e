// The table of the test plugin's network that reduces, over socket_coll.h: one source, compiled once per
// version (VERSION).

#include <atomic>
#include <cstring>
#include <vector>

#include "faults.h"
#include "runtime/plugins/coll_abi.h"
#include "socket_coll.h"

namespace {

using namespace test_net;
namespace abi = xylem::plugins::abi;

constexpr int kVersion = VERSION;
using Types = abi::CollNetTypes<kVersion>;

std::atomic<bool> ready{false};  // ranks of several threads make contexts

abi::Result begin(abi::LogFunction log) {
  const auto result = static_cast<abi::Result>(fault("TEST_COLL_INIT"));
  if (result != kSuccess) return result;
  ready = true;
  log(3, 0x10, __func__, __LINE__, "COLLNET/Test%d : ready", kVersion);
  return kSuccess;
}

abi::Result devices(int* count) {
  *count = static_cast<int>(fault("TEST_COLL_DEVICES", 1));
  return kSuccess;
}

template <int V>
abi::Result getProperties(int dev, abi::Properties<V>* out) {
  static char name[] = "test0";
  if (dev != 0) return kInternal;
  std::memset(static_cast<void*>(out), 0x5a, sizeof *out);
  out->name = fault("TEST_COLL_NO_NAME") == 0 ? name : nullptr;
  out->pciPath = nullptr;
  out->guid = 0;
  out->ptrSupport = abi::kPtrHost;
  out->speed = 25000;
  out->port = 1;
  out->latency = 0;
  out->maxComms = 1000;
  out->maxRecvs = 1;
  if constexpr (V >= 9) out->maxCollBytes = static_cast<std::size_t>(fault("TEST_COLL_MAX", 1 << 29));
  return kSuccess;
}

abi::Result listenOn(int dev, void* handle, void** comm) {
  if (!ready || dev != 0) return kInternal;
  auto* listener = new Listener;
  *comm = listener;
  Handle made{};
  made.address = listener->address;
  std::memcpy(handle, &made, sizeof made);
  return listener->socket < 0 ? kSystem : kSuccess;
}

abi::Result connectAll(void** handles, int members, int self, void* listener, void** comm) {
  std::vector<Handle> all(static_cast<std::size_t>(members));
  for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], handles[i], sizeof(Handle));
  return collConnect(all, self, *static_cast<Listener*>(listener), reinterpret_cast<CollComm**>(comm));
}

abi::Result reduceSupport(int type, int op, int* supported) {
  if (const auto result = static_cast<abi::Result>(fault("TEST_COLL_SUPPORT")); result != kSuccess)
    return result;
  *supported = fault("TEST_COLL_NONE") == 0 && collReduces(type, op) ? 1 : 0;
  return kSuccess;
}

abi::Result regMr(void* comm, void* data, Types::RegisteredSize size, int type, void** memory) {
  return static_cast<CollComm*>(comm)->registerMemory(data, static_cast<std::size_t>(size), type, memory);
}
abi::Result regMrDmaBuf(void*, void*, std::size_t, int, std::uint64_t, int, void**) { return kInternal; }
abi::Result deregMr(void* comm, void* memory) {
  return static_cast<CollComm*>(comm)->deregisterMemory(memory);
}

abi::Result iallreduce(void* comm, void* send, void* receive, Types::Count count, int type, int op,
                       void* sendMemory, void* receiveMemory, void** request) {
  *request = nullptr;
  const CollCall call{.count = static_cast<std::uint64_t>(count), .type = type, .op = op};
  const std::size_t bytes = static_cast<std::size_t>(count) * collBytes(type);
  return static_cast<CollComm*>(comm)->begin(
      {.call = call,
       .in = {{static_cast<std::byte*>(send), bytes, sendMemory}},
       .out = {{static_cast<std::byte*>(receive), bytes, receiveMemory}},
       .input = {}},
      request);
}

constexpr int kBytes = 1;  // the type of elements that are only moved

template <typename Part>
std::vector<CollPiece> piecesOf(const Part* parts, int count) {
  std::vector<CollPiece> pieces;
  for (int i = 0; i < count; ++i)
    pieces.push_back({static_cast<std::byte*>(parts[i].address), static_cast<std::size_t>(parts[i].size),
                      parts[i].mhandle});
  return pieces;
}

// Takes the whole of a gathered or scattered buffer at once, as one window.
template <typename Part>
abi::Result iallgather(void* comm, void* send, int parts, Part* receive, std::size_t bytesPerRank,
                       std::size_t windowOffset, std::size_t windowBytes, void* sendMemory, void** request) {
  *request = nullptr;
  if (windowOffset != 0 || windowBytes != bytesPerRank * static_cast<std::size_t>(parts)) return kInternal;
  return static_cast<CollComm*>(comm)->begin(
      {.call = {.count = bytesPerRank, .type = kBytes, .kind = CollKind::kGather},
       .in = {{static_cast<std::byte*>(send), bytesPerRank, sendMemory}},
       .out = piecesOf(receive, parts),
       .input = {}},
      request);
}

template <typename Part>
abi::Result ireducescatter(void* comm, int parts, Part* send, void* receive, std::size_t bytesPerRank,
                           std::size_t windowOffset, std::size_t windowBytes, int type, int op,
                           void* receiveMemory, void** request) {
  *request = nullptr;
  if (windowOffset != 0 || windowBytes != bytesPerRank * static_cast<std::size_t>(parts)) return kInternal;
  return static_cast<CollComm*>(comm)->begin(
      {.call = {.count = bytesPerRank / collBytes(type), .type = type, .op = op, .kind = CollKind::kScatter},
       .in = piecesOf(send, parts),
       .out = {{static_cast<std::byte*>(receive), bytesPerRank, receiveMemory}},
       .input = {}},
      request);
}

abi::Result iflush(void*, void*, int, void*, void**) { return kInternal; }

abi::Result testRequest(void* request, int* done, int* size) {
  auto& asked = *static_cast<CollRequest*>(request);
  return asked.comm->test(asked, done, size);
}

abi::Result closeColl(void* comm) {
  delete static_cast<CollComm*>(comm);
  return kSuccess;
}
abi::Result closeListen(void* listener) {
  delete static_cast<Listener*>(listener);
  return kSuccess;
}

template <int V>
abi::CollNet<V> table() {
  abi::CollNet<V> t{};
  static const char kName[] = {'T', 'e', 's', 't', '0' + kVersion / 10, '0' + kVersion % 10, 0};
  t.name = kName;
  if constexpr (V >= 11)
    t.init = [](void** context, std::uint64_t communicator, abi::LogFunction log) {
      const abi::Result result = begin(log);
      if (result == kSuccess) *context = makeContext({communicator, 0});
      return result;
    };
  else
    t.init = begin;
  t.devices = devices;
  t.getProperties = getProperties<V>;
  if constexpr (V >= 11)
    t.listen = [](void* context, int dev, void* handle, void** comm) {
      return isContext(context) ? listenOn(dev, handle, comm) : kInternal;
    };
  else
    t.listen = listenOn;
  t.connect = connectAll;
  t.reduceSupport = reduceSupport;
  t.regMr = regMr;
  t.regMrDmaBuf = regMrDmaBuf;
  t.deregMr = deregMr;
  t.iallreduce = iallreduce;
  if constexpr (V >= 8) {
    t.middle.iallgather = iallgather<typename abi::CollNetTypes<V>::Part>;
    t.middle.ireducescatter = ireducescatter<typename abi::CollNetTypes<V>::Part>;
  }
  t.iflush = iflush;
  t.test = testRequest;
  t.closeColl = closeColl;
  t.closeListen = closeListen;
  if constexpr (V >= 11) t.tail.finalize = dropContext;
  return t;
}

}  // namespace

#define XYLEM_JOIN(a, b) a##b
#define XYLEM_SYMBOL(version) XYLEM_JOIN(ncclCollNetPlugin_v, version)

extern "C" {
__attribute__((visibility("default"))) abi::CollNet<kVersion> XYLEM_SYMBOL(VERSION) = table<VERSION>();
// Number of finished reductions.
__attribute__((visibility("default"))) long testCollReduced() { return collReduced(); }
}
