#pragma once
// The reducing network of the test's net plugin: a star of TCP sockets on the loopback. Member 0 adds up what
// the others send it and sends them the result; everything is checked that NCCL's contract lets a plugin
// expect. Each function's result is an ncclResult_t.

#include <deque>
#include <list>
#include <vector>

#include "socket_net.h"

namespace test_net {

// What all members have to agree on.
struct CollCall {
  std::uint64_t count = 0;
  int type = 0, op = 0;
  bool operator==(const CollCall&) const = default;
};

bool collReduces(int type, int op);
// So many reductions have been finished here.
long collReduced();

struct CollRequest {
  CollCall call;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  bool through = false;
  long looks = 0;  // that test still has to take
  class CollComm* comm = nullptr;
};

// What one member sends another: the call, then its elements.
struct CollStream {
  int socket = -1;
  std::size_t sent = 0, received = 0;  // of the current call's bytes
  CollCall heard;
  std::vector<std::byte> elements;
};

class CollComm {
 public:
  // Takes the sockets: at member 0 one for each other member in their order, elsewhere one.
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
  bool combined_ = false;  // member 0: the current call's result lies in its output
  std::vector<CollStream> streams_;
  std::list<Memory> memories_;
  std::list<CollRequest> requests_;   // all that live
  std::deque<CollRequest*> pending_;  // those that are not through
};

// Waits for the other members, some seconds at most.
int collConnect(const std::vector<Handle>& handles, int self, Listener& listener, CollComm** comm);

}  // namespace test_net
