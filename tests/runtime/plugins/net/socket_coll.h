#pragma once
// The network that reduces of the test's net plugin: a star of TCP sockets on the loopback. Member 0 adds up
// what the others send and sends them the result. It checks everything that NCCL's contract lets a plugin
// expect. Functions return an ncclResult_t.

#include <deque>
#include <list>
#include <vector>

#include "socket_net.h"

namespace test_net {

enum class CollKind : std::int32_t { kReduce, kGather, kScatter };

// The parameters of a call, which must be the same on all members.
struct CollCall {
  std::uint64_t count = 0;  // elements of a reduction, of one member for the others
  int type = 0, op = 0;
  CollKind kind = CollKind::kReduce;
  int unused = 0;
  bool operator==(const CollCall&) const = default;
};

bool collReduces(int type, int op);
// The bytes of an element; 0 for types that it does not reduce.
std::size_t collBytes(int type);
// Number of reductions, gathers and scatters that this process has finished.
long collReduced();

struct CollPiece {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  void* memory = nullptr;  // its registration
};

struct CollRequest {
  CollCall call;
  std::vector<CollPiece> in, out;
  std::vector<std::byte> input;  // all of `in`
  bool through = false;
  long looks = 0;  // calls of test until it reports the end
  class CollComm* comm = nullptr;
};

// A connection between two members: carries the call, then its elements.
struct CollStream {
  int socket = -1;
  std::size_t sent = 0, received = 0;  // bytes of the current call
  CollCall heard;
  std::vector<std::byte> elements;
};

class CollComm {
 public:
  // Takes over the sockets: member 0 has one for each other member, in their order; the others have one.
  CollComm(int self, std::size_t members, const std::vector<int>& sockets);
  ~CollComm();
  CollComm(const CollComm&) = delete;
  CollComm& operator=(const CollComm&) = delete;

  int registerMemory(void* data, std::size_t bytes, int kind, void** memory);
  int deregisterMemory(void* memory);
  int begin(const CollRequest& wanted, void** request);
  int test(CollRequest& request, int* done, int* size);

 private:
  bool knows(const std::byte* data, std::size_t bytes, const void* memory) const;
  void progress();
  bool reduceAll(CollRequest& request);
  bool exchange(CollRequest& request);
  // The lengths of the data that a member brings to a call, and gets from it.
  std::size_t bytesIn(const CollCall& call) const;
  std::size_t bytesOut(const CollCall& call) const;
  bool send(CollStream& stream, const CollCall& call, const std::byte* elements, std::size_t bytes);
  bool receive(CollStream& stream, const CollCall& call, std::size_t bytes);
  bool moved(ssize_t bytes, std::size_t& so);

  int self_;
  std::size_t members_;
  int failure_ = kSuccess;
  long calls_ = 0, refused_ = 0;
  bool combined_ = false;  // member 0: `result_` is that of the current call
  std::vector<std::byte> result_;
  std::vector<CollStream> streams_;
  std::list<Memory> memories_;
  std::list<CollRequest> requests_;   // all live ones
  std::deque<CollRequest*> pending_;  // those that have not finished
};

// Waits for the other members, for some seconds at most.
int collConnect(const std::vector<Handle>& handles, int self, Listener& listener, CollComm** comm);

}  // namespace test_net
