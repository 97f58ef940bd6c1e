#pragma once
// The network that reduces of the test's net plugin: a star of TCP sockets on the loopback. Member 0 adds up
// what the others send and sends them the result. It checks everything that NCCL's contract lets a plugin
// expect. Functions return an ncclResult_t.

#include <deque>
#include <list>
#include <vector>

#include "socket_net.h"

namespace test_net {

// The parameters of a call, which must be the same on all members.
struct CollCall {
  std::uint64_t count = 0;
  int type = 0, op = 0;
  bool operator==(const CollCall&) const = default;
};

bool collReduces(int type, int op);
// Number of reductions that this process has finished.
long collReduced();

struct CollRequest {
  CollCall call;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
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
  CollComm(int self, std::vector<int> sockets);
  ~CollComm();
  CollComm(const CollComm&) = delete;
  CollComm& operator=(const CollComm&) = delete;

  int registerMemory(void* data, std::size_t bytes, int kind, void** memory);
  int deregisterMemory(void* memory);
  int iallreduce(const CollRequest& wanted, void* inMemory, void* outMemory, void** request);
  int test(CollRequest& request, int* done, int* size);

 private:
  bool knows(const std::byte* data, std::size_t bytes, const void* memory) const;
  void progress();
  bool reduceAll(CollRequest& request);
  bool exchange(CollRequest& request);
  bool send(CollStream& stream, const CollCall& call, const std::byte* elements);
  bool receive(CollStream& stream, const CollCall& call);
  bool moved(ssize_t bytes, std::size_t& so);

  int self_;
  int failure_ = kSuccess;
  long calls_ = 0, refused_ = 0;
  bool combined_ = false;  // member 0: the result of the current call lies in its output
  std::vector<CollStream> streams_;
  std::list<Memory> memories_;
  std::list<CollRequest> requests_;   // all live ones
  std::deque<CollRequest*> pending_;  // those that have not finished
};

// Waits for the other members, for some seconds at most.
int collConnect(const std::vector<Handle>& handles, int self, Listener& listener, CollComm** comm);

}  // namespace test_net
