#pragma once
// The network of the test's net plugin: one TCP socket per connection. It checks everything that NCCL's
// contract lets a plugin expect. Functions return an ncclResult_t.

#include <netinet/in.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "gpu_copy.h"

namespace test_net {

constexpr int kSuccess = 0, kSystem = 2, kInternal = 3, kUsage = 5, kRemote = 6;
constexpr std::size_t kRequests = 32;
constexpr int kMostReceives = 8;

// Number of live objects of the plugin: those that were not closed.
int living();
// Counts objects of other parts of the plugin with them.
void noteMade(int objects);
// The users for whom the plugin was initialised and not finalized, where it has contexts.
struct Context {
  std::uint64_t communicator;
  int trafficClass;
};
Context* makeContext(const Context& of);
int dropContext(void* context);
bool isContext(void* context);
int contexts();
// How often this happened in this process.
enum class Event { kGpuMemory, kDmaBuf, kFlush };
std::atomic<long>& countOf(Event event);

constexpr int kHostMemory = 1, kGpuMemory = 2;

struct Memory {
  std::byte* data;
  std::size_t bytes;
  int kind;
};

struct Part {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // of a send; of a receive the most it takes
  int tag = 0;
  bool through = false;
  bool held = false;    // is not in `data` before it is flushed
  bool staged = false;  // is copied between `data` and `copy`
  std::vector<std::byte> copy{};
};

// A send has one part, a receive as many as it has buffers.
struct Request {
  std::vector<Part> parts;
  std::size_t left = 0;  // parts that are not done
  long looks = 0;        // calls of test until it reports the end
  class Comm* comm = nullptr;
};

struct Header {
  std::uint64_t bytes = 0;
  std::int64_t tag = 0;
};

class Comm {
 public:
  explicit Comm(int socket);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int registerMemory(void* data, std::size_t bytes, int kind, void** memory);
  int registerDmaBuf(void* data, std::size_t bytes, int file, void** memory);
  int deregisterMemory(void* memory);
  int isend(const Part& part, void* memory, void** request);
  int irecv(std::span<const Part> parts, void** memories, void** request);
  int iflush(std::span<const Part> parts, void** memories, void** request);
  int test(Request& request, int* done, int* sizes);

 private:
  int add(void* data, std::size_t bytes, int kind, void** memory);
  const Memory* find(const Part& part, const void* memory) const;
  bool busy();
  int take(std::vector<Part> parts, void** request);
  void progress();
  bool moveSend();
  bool moveReceive();
  // Moves the rest of header and payload. Returns false if the socket takes or has no more at the moment.
  bool move(std::byte* payload, bool sends);

  int socket_;
  bool sends_ = false;
  int failure_ = kSuccess;
  long refused_ = 0;
  long sent_ = 0;
  std::list<Memory> memories_;
  std::unique_ptr<GpuCopier> copier_;                  // if the driver copies
  std::map<std::byte*, std::vector<std::byte>> held_;  // by where it belongs
  std::list<Request> requests_;                        // all live ones
  std::deque<Request*> pending_;                       // those that have not finished
  Header header_{};
  std::size_t moved_ = 0;  // bytes of header and payload of the current message
  Part* current_ = nullptr;
};

struct Listener {
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket = -1;
  long late;
  sockaddr_in address{};
};

// Until it is done, it succeeds without a comm.
int accept(Listener& listener, Comm** comm);

// The content of a handle's 128 bytes: the address, then the state that connect keeps between calls.
struct Handle {
  std::uint64_t magic;
  sockaddr_in address;
  struct Connector* caller;
};
static_assert(sizeof(Handle) <= 128);
int connect(Handle& handle, Comm** comm);

}  // namespace test_net
