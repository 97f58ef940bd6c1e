// The table of the test's net plugin, over socket_net.h: one source, compiled once per version (VERSION).

#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "faults.h"
#include "runtime/plugins/net_abi.h"
#include "socket_net.h"

namespace {

using namespace test_net;
namespace abi = xylem::plugins::abi;

constexpr int kVersion = VERSION;
using Size = abi::NetTypes<kVersion>::Size;
using RegisteredSize = abi::NetTypes<kVersion>::RegisteredSize;
constexpr std::uint64_t kMagic = 0x78796c656d746573;

std::atomic<bool> ready{false};  // ranks of several threads make contexts
// The user that connected last.
std::atomic<std::uint64_t> lastCommunicator{0};
std::atomic<int> lastTrafficClass{0};

char* text(const char* constant) { return const_cast<char*>(constant); }

abi::Result begin(abi::LogFunction log) {
  const auto result = static_cast<abi::Result>(fault("TEST_NET_INIT"));
  if (result != kSuccess) return result;
  ready = true;
  log(3, 0x10, __func__, __LINE__, "NET/Test%d : %ld devices", kVersion, fault("TEST_NET_DEVICES", 1));
  return kSuccess;
}

abi::Result devices(int* count) {
  if (fault("TEST_NET_DEVICES", 1) > 0) *count = static_cast<int>(fault("TEST_NET_DEVICES", 1));
  return kSuccess;
}

// Fills all members with garbage first, except those that it must not touch.
template <int V>
abi::Result getProperties(int dev, abi::Properties<V>* out) {
  static const char* const kNames[] = {"test0", "test1", "test2", "test3"};
  if (dev < 0 || dev >= fault("TEST_NET_DEVICES", 1) || dev > 3) return kInternal;
  std::memset(static_cast<void*>(out), 0x5a, sizeof *out);
  static const std::string longName(5000, 'x');
  out->name = text(kNames[dev]);
  if (fault("TEST_NET_NAME", 5) == 0) out->name = nullptr;
  if (fault("TEST_NET_NAME", 5) > 5) out->name = text(longName.c_str());
  out->pciPath = nullptr;
  out->guid = static_cast<std::uint64_t>(dev);
  out->ptrSupport = static_cast<int>(fault("TEST_NET_POINTERS", abi::kPtrHost));
  out->speed = static_cast<int>(fault("TEST_NET_SPEED", 25000 * (dev + 1)));
  out->port = 1;
  out->latency = 1.5;
  out->maxComms = 1000;
  out->maxRecvs = kMostReceives;
  if constexpr (V >= 7) out->netDeviceType = abi::kHostNetDevice;
  if constexpr (V >= 8) out->regIsGlobal = 1;
  if constexpr (V >= 9) {
    out->forceFlush = static_cast<int>(fault("TEST_NET_FORCE_FLUSH"));
    out->vProps = {1, {dev}};
    out->maxP2pBytes = static_cast<std::size_t>(fault("TEST_NET_MAX", 1l << 31));
  }
  return kSuccess;
}

abi::Result listenOn(int dev, void* handle, void** comm) {
  if (!ready || dev < 0 || dev >= fault("TEST_NET_DEVICES", 1)) return kInternal;
  if (const auto result = static_cast<abi::Result>(fault("TEST_NET_LISTEN")); result != kSuccess)
    return result;
  auto* listener = new Listener;
  *comm = listener;
  auto& out = *static_cast<Handle*>(handle);
  out.magic = kMagic;
  out.address = listener->address;
  return listener->socket < 0 ? kSystem : kSuccess;
}

abi::Result connectTo(void* handle, void** comm) {
  auto& where = *static_cast<Handle*>(handle);
  if (where.magic != kMagic) return kInternal;
  return connect(where, reinterpret_cast<Comm**>(comm));
}
abi::Result acceptFrom(void* listener, void** comm) {
  if (fault("TEST_NET_ACCEPT_WAITS") == 0)
    return accept(*static_cast<Listener*>(listener), reinterpret_cast<Comm**>(comm));
  while (fault("TEST_NET_ACCEPT_WAITS") != 0) {
    const abi::Result result = accept(*static_cast<Listener*>(listener), reinterpret_cast<Comm**>(comm));
    if (result != kSuccess || *comm != nullptr) return result;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return accept(*static_cast<Listener*>(listener), reinterpret_cast<Comm**>(comm));
}

abi::Result regMr(void* comm, void* data, RegisteredSize size, int type, void** memory) {
  return static_cast<Comm*>(comm)->registerMemory(data, static_cast<std::size_t>(size), type, memory);
}
abi::Result regMrDmaBuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int file,
                        void** memory) {
  if (type != abi::kPtrCuda || offset != 0) return kInternal;
  return static_cast<Comm*>(comm)->registerDmaBuf(data, size, file, memory);
}
abi::Result deregMr(void* comm, void* memory) { return static_cast<Comm*>(comm)->deregisterMemory(memory); }

abi::Result sendOn(void* comm, void* data, Size size, int tag, void* memory, void** request) {
  *request = nullptr;
  return static_cast<Comm*>(comm)->isend({static_cast<std::byte*>(data), static_cast<std::size_t>(size), tag},
                                         memory, request);
}
abi::Result receiveOn(void* comm, int n, void** data, Size* sizes, int* tags, void** memories,
                      void** request) {
  const auto given = reinterpret_cast<std::uintptr_t>(*request);
  if (given > (kVersion >= 9 ? abi::kOptionalCompletion : 0)) return kInternal;
  *request = nullptr;
  std::vector<Part> parts;
  for (int i = 0; i < n; ++i)
    parts.push_back({static_cast<std::byte*>(data[i]), static_cast<std::size_t>(sizes[i]), tags[i]});
  return static_cast<Comm*>(comm)->irecv(parts, memories, request);
}
abi::Result iflush(void* comm, int n, void** data, int* sizes, void** memories, void** request) {
  std::vector<Part> parts;
  for (int i = 0; i < n; ++i)
    parts.push_back({static_cast<std::byte*>(data[i]), static_cast<std::size_t>(sizes[i])});
  return static_cast<Comm*>(comm)->iflush(parts, memories, request);
}
abi::Result testRequest(void* request, int* done, int* sizes) {
  auto& asked = *static_cast<Request*>(request);
  return asked.comm->test(asked, done, sizes);
}

abi::Result closeComm(void* comm) {
  delete static_cast<Comm*>(comm);
  return kSuccess;
}
abi::Result closeListen(void* listener) {
  delete static_cast<Listener*>(listener);
  return kSuccess;
}

// A template, so that the members of other versions are not compiled.
template <int V>
abi::Net<V> table() {
  abi::Net<V> t{};
  static const char kName[] = {'T', 'e', 's', 't', '0' + kVersion / 10, '0' + kVersion % 10, 0};
  t.name = kName;
  if constexpr (V >= 10) {
    if constexpr (V >= 11) {
      t.init = [](void** context, std::uint64_t communicator, abi::CommConfig* config, abi::LogFunction log,
                  abi::ProfileFunction) {
        const abi::Result result = begin(log);
        if (result == kSuccess) *context = makeContext({communicator, config->trafficClass});
        return result;
      };
      t.connect = [](void* context, int, void* handle, void** comm, abi::DeviceHandle**) {
        if (!isContext(context)) return kInternal;
        lastCommunicator = static_cast<Context*>(context)->communicator;
        lastTrafficClass = static_cast<Context*>(context)->trafficClass;
        return connectTo(handle, comm);
      };
      t.tail.finalize = dropContext;
    } else {
      t.init = [](abi::LogFunction log, abi::ProfileFunction) { return begin(log); };
      t.connect = [](int, abi::CommConfig* config, void* handle, void** comm, abi::DeviceHandle**) {
        lastTrafficClass = config->trafficClass;
        return connectTo(handle, comm);
      };
    }
    t.isend = [](void* comm, void* data, Size size, int tag, void* memory, void*, void** request) {
      return sendOn(comm, data, size, tag, memory, request);
    };
    t.irecv = [](void* comm, int n, void** data, Size* sizes, int* tags, void** memories, void** events,
                 void** request) {
      return events == nullptr ? kInternal : receiveOn(comm, n, data, sizes, tags, memories, request);
    };
  } else {
    t.init = begin;
    t.isend = sendOn;
    t.irecv = receiveOn;
    if constexpr (V >= 7)
      t.connect = [](int, void* handle, void** comm, abi::DeviceHandle**) { return connectTo(handle, comm); };
    else
      t.connect = [](int, void* handle, void** comm) { return connectTo(handle, comm); };
  }
  if constexpr (V >= 7)
    t.accept = [](void* listener, void** comm, abi::DeviceHandle**) { return acceptFrom(listener, comm); };
  else
    t.accept = acceptFrom;
  t.devices = devices;
  t.getProperties = getProperties<V>;
  if constexpr (V >= 11)
    t.listen = [](void* context, int dev, void* handle, void** comm) {
      return isContext(context) ? listenOn(dev, handle, comm) : kInternal;
    };
  else
    t.listen = listenOn;
  t.regMr = regMr;
  t.regMrDmaBuf = regMrDmaBuf;
  t.deregMr = deregMr;
  t.iflush = iflush;
  t.test = testRequest;
  t.closeSend = closeComm;
  t.closeRecv = closeComm;
  t.closeListen = closeListen;
  if (fault("TEST_NET_MISSING") != 0) t.isend = nullptr;
  if (fault("TEST_NET_NO_FLUSH") != 0) t.iflush = nullptr;
  return t;
}

}  // namespace

#define XYLEM_JOIN(a, b) a##b
#define XYLEM_SYMBOL(version) XYLEM_JOIN(ncclNetPlugin_v, version)

extern "C" {
__attribute__((visibility("default"))) abi::Net<kVersion> XYLEM_SYMBOL(VERSION) = table<VERSION>();
// Number of live objects of the plugin.
__attribute__((visibility("default"))) int testNetLiving() { return living(); }
// Users that were not finalized; the communicator and the traffic class of the one that connected last.
__attribute__((visibility("default"))) int testNetContexts() { return contexts(); }
__attribute__((visibility("default"))) std::uint64_t testNetCommunicator() { return lastCommunicator; }
__attribute__((visibility("default"))) int testNetTrafficClass() { return lastTrafficClass; }
// How often it was given memory of a GPU, the same as DMA-BUF, and how often it flushed.
__attribute__((visibility("default"))) long testNetGpuMemory() { return countOf(Event::kGpuMemory); }
__attribute__((visibility("default"))) long testNetDmaBufs() { return countOf(Event::kDmaBuf); }
__attribute__((visibility("default"))) long testNetFlushes() { return countOf(Event::kFlush); }
}
