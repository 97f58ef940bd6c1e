// The tables of a net plugin that NCCL finds in libnccl-net-xylem.so, of versions 8 to 10.

#include <climits>

#include "runtime/plugins/xylem_net/offered_network.h"

namespace xylem::xylem_net {

// Calls `work` and turns errors into result codes for NCCL; their texts go to NCCL's log. A peer that has closed its connection
// is no reason for a warning: when a job ends, receives are still posted for messages that never come.
template <typename Work>
plugins::abi::Result guarded(Work&& work) noexcept {
  try {
    work(xylem_net::OfferedNetwork::instance());
    return plugins::abi::kSuccess;
  } catch (const transport::LinkBroken& broken) {
    xylem_net::OfferedNetwork::instance().log(broken.unreachable() ? LogLevel::kWarn : LogLevel::kInfo,
                                              broken.what());
    return static_cast<plugins::abi::Result>(broken.code());
  } catch (const Error& error) {
    xylem_net::OfferedNetwork::instance().log(LogLevel::kWarn, error.what());
    return static_cast<plugins::abi::Result>(error.code());
  } catch (const std::exception& other) {
    xylem_net::OfferedNetwork::instance().log(LogLevel::kWarn, other.what());
    return plugins::abi::kSystemError;
  }
}

inline plugins::abi::Result devices(int* count) {
  *count = 0;
  return guarded([&](xylem_net::OfferedNetwork& net) { *count = net.devices(); });
}

template <int V>
plugins::abi::Result getProperties(int device, plugins::abi::Properties<V>* out) {
  return guarded([&](xylem_net::OfferedNetwork& net) {
    const transport::NetProperties properties = net.properties(device);
    *out = {};
    out->name = net.deviceName(device);
    out->guid = properties.guid;
    out->ptrSupport = plugins::abi::kPtrHost;
    out->speed = properties.speed;
    out->port = properties.port;
    out->latency = properties.latency;
    out->maxComms = properties.maxLinks;
    out->maxRecvs = properties.maxReceives;
    if constexpr (V >= 9) {
      out->vProps = {1, {device}};
      out->maxP2pBytes = INT_MAX;  // test() returns sizes as ints
      out->maxCollBytes = INT_MAX;
    }
  });
}

inline plugins::abi::Result listen(int device, void* handle, void** comm) {
  *comm = nullptr;
  return guarded([&](xylem_net::OfferedNetwork& net) { *comm = net.listen(device, handle); });
}
inline plugins::abi::Result connect(int device, void* handle, void** comm, plugins::abi::DeviceHandle**) {
  *comm = nullptr;
  return guarded([&](xylem_net::OfferedNetwork& net) { *comm = net.connect(device, handle); });
}
inline plugins::abi::Result connectWith(int device, plugins::abi::CommConfig*, void* handle, void** comm,
                                        plugins::abi::DeviceHandle** offload) {
  return connect(device, handle, comm, offload);
}
inline plugins::abi::Result accept(void* listening, void** comm, plugins::abi::DeviceHandle**) {
  *comm = nullptr;
  return guarded([&](xylem_net::OfferedNetwork& net) { *comm = net.accept(listening); });
}

// Sockets need no registration, and cannot reach memory of GPUs.
inline plugins::abi::Result regMr(void*, void*, std::size_t, int type, void** memory) {
  *memory = nullptr;
  return type == plugins::abi::kPtrHost ? plugins::abi::kSuccess : plugins::abi::kInternalError;
}
inline plugins::abi::Result deregMr(void*, void*) { return plugins::abi::kSuccess; }
inline plugins::abi::Result iflush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return plugins::abi::kInternalError;
}

template <typename Size>
plugins::abi::Result isend(void* comm, void* data, Size bytes, int tag, void*, void** request) {
  *request = nullptr;
  return guarded([&](xylem_net::OfferedNetwork&) {
    auto& link = *static_cast<xylem_net::OfferedComm*>(comm);
    xylem_net::OfferedRequest* fresh = link.fresh();
    if (fresh == nullptr) return;
    transport::NetRequest* sent =
        link.sender->isend(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes),
                           static_cast<std::uint32_t>(tag));
    if (sent == nullptr) return;
    *fresh = {link.sender.get(), sent};
    *request = fresh;
  });
}
template <typename Size>
plugins::abi::Result isendTold(void* comm, void* data, Size bytes, int tag, void* memory, void*,
                               void** request) {
  return isend<Size>(comm, data, bytes, tag, memory, request);
}

template <typename Size>
plugins::abi::Result irecv(void* comm, int n, void** data, Size* bytes, int* tags, void**, void** request) {
  *request = nullptr;
  return guarded([&](xylem_net::OfferedNetwork&) {
    auto& link = *static_cast<xylem_net::OfferedComm*>(comm);
    if (n != 1) throw Error(ResultCode::kInternalError, "a receive of {} buffers; one is possible", n);
    xylem_net::OfferedRequest* fresh = link.fresh();
    if (fresh == nullptr) return;
    const transport::NetBuffer buffer{static_cast<std::byte*>(data[0]), static_cast<std::size_t>(bytes[0]),
                                      static_cast<std::uint32_t>(tags[0])};
    transport::NetRequest* posted = link.receiver->irecv({&buffer, 1});
    if (posted == nullptr) return;
    *fresh = {link.receiver.get(), posted};
    *request = fresh;
  });
}
template <typename Size>
plugins::abi::Result irecvTold(void* comm, int n, void** data, Size* bytes, int* tags, void** memory, void**,
                               void** request) {
  return irecv<Size>(comm, n, data, bytes, tags, memory, request);
}

inline plugins::abi::Result test(void* request, int* done, int* sizes) {
  *done = 0;
  return guarded([&](xylem_net::OfferedNetwork&) {
    auto& asked = *static_cast<xylem_net::OfferedRequest*>(request);
    std::size_t bytes = 0;
    if (!asked.link->test(asked.request, &bytes)) return;
    asked = {};
    if (sizes != nullptr) *sizes = static_cast<int>(bytes);
    *done = 1;
  });
}

inline plugins::abi::Result closeComm(void* comm) {
  return guarded([&](xylem_net::OfferedNetwork&) {
    std::unique_ptr<xylem_net::OfferedComm>(static_cast<xylem_net::OfferedComm*>(comm));
  });
}
inline plugins::abi::Result closeListen(void* listening) {
  return guarded([&](xylem_net::OfferedNetwork&) {
    std::unique_ptr<transport::NetListener>(static_cast<transport::NetListener*>(listening));
  });
}

inline plugins::abi::Result start(plugins::abi::LogFunction log) {
  return guarded([&](xylem_net::OfferedNetwork& net) { net.start(log); });
}
inline plugins::abi::Result startTold(plugins::abi::LogFunction log, plugins::abi::ProfileFunction) {
  return start(log);
}

// The table of one version, over OfferedNetwork.
template <int V>
constexpr plugins::abi::Net<V> offeredTable() {
  using Size = typename plugins::abi::NetTypes<V>::Size;
  plugins::abi::Net<V> table{};
  table.name = "Xylem";
  table.devices = devices;
  table.getProperties = getProperties<V>;
  table.listen = listen;
  table.accept = accept;
  table.regMr = regMr;
  table.deregMr = deregMr;
  table.iflush = iflush;
  table.test = test;
  table.closeSend = closeComm;
  table.closeRecv = closeComm;
  table.closeListen = closeListen;
  if constexpr (V >= 10) {
    table.init = startTold;
    table.connect = connectWith;
    table.isend = isendTold<Size>;
    table.irecv = irecvTold<Size>;
  } else {
    table.init = start;
    table.connect = connect;
    table.isend = isend<Size>;
    table.irecv = irecv<Size>;
  }
  return table;
}

}  // namespace xylem::xylem_net

extern "C" {
__attribute__((visibility("default"))) constinit xylem::plugins::abi::Net<8> ncclNetPlugin_v8 =
    xylem::xylem_net::offeredTable<8>();
__attribute__((visibility("default"))) constinit xylem::plugins::abi::Net<9> ncclNetPlugin_v9 =
    xylem::xylem_net::offeredTable<9>();
__attribute__((visibility("default"))) constinit xylem::plugins::abi::Net<10> ncclNetPlugin_v10 =
    xylem::xylem_net::offeredTable<10>();
}
