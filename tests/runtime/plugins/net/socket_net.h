#pragma once
// The network of the test's net plugin: one TCP socket per connection, everything checked that NCCL's
// contract lets a plugin expect. Each function's result is an ncclResult_t.

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace test_net {

constexpr int kSuccess = 0, kSystem = 2, kInternal = 3, kUsage = 5, kRemote = 6;
constexpr std::size_t kRequests = 32;
constexpr int kMostReceives = 8;

// So many objects of the plugin live; what nobody has closed.
int living();
// Other parts of the plugin count theirs with them.
void noteMade(int objects);

struct Memory {
  std::byte* data;
  std::size_t bytes;
};

struct Part {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // to send; or at most
  int tag = 0;
  bool through = false;
};

// Parts: one of a send, as many as there are buffers of a receive.
struct Request {
  std::vector<Part> parts;
  std::size_t left = 0;  // parts
  long looks = 0;        // that test still has to take
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
  int deregisterMemory(void* memory);
  int isend(const Part& part, void* memory, void** request);
  int irecv(std::span<const Part> parts, void** memories, void** request);
  int test(Request& request, int* done, int* sizes);

 private:
  bool knows(const Part& part, const void* memory) const;
  bool busy();
  int take(std::vector<Part> parts, void** request);
  void progress();
  bool moveSend();
  bool moveReceive();
  // What is left of header and payload; false if no more goes at the moment.
  bool move(std::byte* payload, bool sends);

  int socket_;
  bool sends_ = false;
  int failure_ = kSuccess;
  long refused_ = 0;
  long sent_ = 0;
  std::list<Memory> memories_;
  std::list<Request> requests_;   // all that live
  std::deque<Request*> pending_;  // those that are not through
  Header header_{};
  std::size_t moved_ = 0;  // of header and payload of the current message
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

// Not through yet: success without a comm.
int accept(Listener& listener, Comm** comm);

// In the 128 bytes: where to call; behind that, notes that the caller keeps from call to call.
struct Handle {
  std::uint64_t magic;
  sockaddr_in address;
  struct Caller* caller;
};
static_assert(sizeof(Handle) <= 128);
int connect(Handle& handle, Comm** comm);

}  // namespace test_net
