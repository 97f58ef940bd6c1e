// A net plugin for NCCL and Xylem: the Unix sockets of one machine, called Wire. It is here to be read and
// changed; docs/tutorials/write-a-net-plugin.md goes through it.
//
//   g++ -std=c++17 -fPIC -shared net_plugin.cc -o libnccl-net-wire.so
//   NCCL_NET_PLUGIN=$PWD/libnccl-net-wire.so NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 xylem perf all_reduce -p 2
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>

namespace {

enum { kSuccess = 0, kSystemError = 2 };

struct Comm;
struct Request {
  Comm* comm;
  char* data;
  uint64_t size;    // bytes of the message; for a receive, of its buffer until the header has arrived
  uint64_t header;  // sent before the data: the size of the message in bytes
  size_t moved;     // bytes of header and data that have moved
  bool done;
};

struct Comm {
  int socket;
  bool sends;
  std::deque<Request*> open;  // in the order in which they were posted
};

// Moves bytes without waiting. Returns 0 if the request is complete, EAGAIN if not yet, else an error: it
// never will be.
int move(Comm& comm, Request& r) {
  for (;;) {
    const bool inHeader = r.moved < sizeof r.header;
    if (!inHeader && r.header > r.size) return EMSGSIZE;
    if (!inHeader) r.size = r.header;
    const size_t end = inHeader ? sizeof r.header : sizeof r.header + r.size;
    if (!inHeader && r.moved == end) return 0;
    char* at = inHeader ? reinterpret_cast<char*>(&r.header) + r.moved : r.data + r.moved - sizeof r.header;
    const ssize_t n = comm.sends ? send(comm.socket, at, end - r.moved, MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : recv(comm.socket, at, end - r.moved, MSG_DONTWAIT);
    if (n <= 0) return n == 0 ? EPIPE : errno;
    r.moved += n;
  }
}

int post(Comm* comm, void* data, size_t size, void** request) {
  auto* r = new Request{comm, static_cast<char*>(data), size, size, 0, false};
  comm->open.push_back(r);
  *request = r;
  return kSuccess;
}

int test(void* request, int* done, int* sizes) {
  auto* asked = static_cast<Request*>(request);
  Comm& comm = *asked->comm;
  // Earlier requests have to go first; later ones may wait for a message that never comes.
  while (!asked->done) {
    const int error = move(comm, *comm.open.front());
    if (error == EAGAIN) break;
    if (error != 0) return kSystemError;
    comm.open.front()->done = true;
    comm.open.pop_front();
  }
  *done = asked->done;
  if (!asked->done) return kSuccess;
  if (sizes != nullptr) *sizes = static_cast<int>(asked->size);
  delete asked;
  return kSuccess;
}

int closeComm(void* comm) {
  close(static_cast<Comm*>(comm)->socket);
  delete static_cast<Comm*>(comm);
  return kSuccess;
}

// An address in the kernel's own name space, so that no file remains. It travels in the 128 bytes.
struct Handle {
  sockaddr_un address;
  socklen_t length;
};
static_assert(sizeof(Handle) <= 128);

int listenOn(int, void* handle, void** listener) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_un any{};
  any.sun_family = AF_UNIX;
  auto* out = static_cast<Handle*>(handle);
  out->length = sizeof out->address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any.sun_family) != 0 || listen(fd, 64) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&out->address), &out->length) != 0)
    return kSystemError;
  *listener = new Comm{fd, false, {}};
  return kSuccess;
}

int connectTo(int, void* handle, void** comm, void**) {
  const auto* to = static_cast<const Handle*>(handle);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to->address), to->length) == 0) {
    *comm = new Comm{fd, true, {}};
    return kSuccess;
  }
  const int error = errno;
  close(fd);
  *comm = nullptr;  // not yet: it is called again
  return error == EAGAIN ? kSuccess : kSystemError;
}

int acceptFrom(void* listener, void** comm, void**) {
  const int fd = accept4(static_cast<Comm*>(listener)->socket, nullptr, nullptr, SOCK_NONBLOCK);
  *comm = fd < 0 ? nullptr : new Comm{fd, false, {}};
  return fd < 0 && errno != EAGAIN ? kSystemError : kSuccess;
}

// The properties of the network: one device of 50 Gb/s that takes memory of the host.
struct Properties {
  const char *name, *pciPath;
  uint64_t guid;
  int pointers, registrationIsGlobal, speed, port;
  float latency;
  int maxComms, maxReceives, deviceType, deviceVersion;
};

int properties(int, Properties* out) {
  constexpr int kHostMemory = 1;
  *out = {"wire0", nullptr, 0, kHostMemory, 0, 50000, 1, 0, 1024, 1, 0, 0};
  return kSuccess;
}

using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

int init(Log log) {
  constexpr int kInfo = 3;
  constexpr unsigned long kInit = 1;
  log(kInfo, kInit, "init", __LINE__, "NET/Wire : Unix sockets of this machine");
  return kSuccess;
}

int registerMemory(void*, void*, size_t, int, void** registered) {
  *registered = nullptr;
  return kSuccess;
}

// Version 8 of the table. A function that a network does not need may do nothing or, at the end, be missing.
struct Table {
  const char* name = "Wire";
  int (*init)(Log) = ::init;
  int (*devices)(int*) = [](int* count) { return *count = 1, int{kSuccess}; };
  int (*getProperties)(int, Properties*) = properties;
  int (*listen)(int, void*, void**) = listenOn;
  int (*connect)(int, void*, void**, void**) = connectTo;
  int (*accept)(void*, void**, void**) = acceptFrom;
  int (*regMr)(void*, void*, size_t, int, void**) = registerMemory;
  int (*regMrDmaBuf)(void*, void*, size_t, int, uint64_t, int, void**) = nullptr;
  int (*deregMr)(void*, void*) = [](void*, void*) { return int{kSuccess}; };
  int (*isend)(void*, void*, int, int, void*, void**) = [](void* comm, void* data, int size, int, void*,
                                                           void** request) {
    return post(static_cast<Comm*>(comm), data, size, request);
  };
  int (*irecv)(void*, int, void**, int*, int*, void**, void**) = [](void* comm, int, void** data, int* sizes,
                                                                    int*, void**, void** request) {
    return post(static_cast<Comm*>(comm), data[0], sizes[0], request);
  };
  int (*iflush)(void*, int, void**, int*, void**, void**) =
      [](void*, int, void**, int*, void**, void** request) { return *request = nullptr, int{kSuccess}; };
  int (*test)(void*, int*, int*) = ::test;
  int (*closeSend)(void*) = closeComm;
  int (*closeRecv)(void*) = closeComm;
  int (*closeListen)(void*) = closeComm;
  void* getDeviceMr = nullptr;
  void* irecvConsumed = nullptr;
};

}  // namespace

extern "C" {
Table ncclNetPlugin_v8;
}
