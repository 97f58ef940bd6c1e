#pragma once
// The tables of NCCL's plugins for networks that reduce (CollNet), versions 6 to 12, as types that depend on
// the version. A library has such a table beside its net plugin's, maybe of another version.
//
//   auto* table = static_cast<const abi::CollNet<8>*>(dlsym(library, "ncclCollNetPlugin_v8"));
//   table->iallreduce(comm, in, out, count, 7, 0, inMemory, outMemory, &request);

#include "runtime/plugins/net_abi.h"

namespace xylem::plugins::abi {

constexpr int kOldestCollNet = 6;
constexpr int kNewestCollNet = 12;

// Types of parameters that changed between versions.
template <int V>
struct CollNetTypes {
  using RegisteredSize = typename NetTypes<V>::RegisteredSize;
  using Count = std::conditional_t<(V >= 9), std::size_t, int>;
  using PartSize = std::conditional_t<(V >= 9), std::size_t, std::uint32_t>;
  // A piece of memory of a gathering or scattering call.
  struct Part {
    void* mhandle;
    void* address;
    PartSize size;
  };
  static_assert(sizeof(Part) == 24);
};

// Functions between those that all versions have; any of them may be null.
template <int V, bool kFrom8 = (V >= 8)>
struct CollNetMiddle {};
template <int V>
struct CollNetMiddle<V, true> {
  using Part = typename CollNetTypes<V>::Part;
  Result (*iallgather)(void* comm, void* send, int parts, Part* receive, std::size_t bytesPerRank,
                       std::size_t windowOffset, std::size_t windowBytes, void* sendMemory, void** request);
  Result (*ireducescatter)(void* comm, int parts, Part* send, void* receive, std::size_t bytesPerRank,
                           std::size_t windowOffset, std::size_t windowBytes, int type, int op,
                           void* receiveMemory, void** request);
};

// Functions after those that all versions have.
template <int V, int kTail = (V >= 11  ? 11
                              : V >= 9 ? 9
                                       : 6)>
struct CollNetTail {};
template <int V>
struct CollNetTail<V, 9> {
  Result (*makeVDevice)(int* device, Virtual<V>* properties);
};
template <int V>
struct CollNetTail<V, 11> : CollNetTail<V, 9> {
  Result (*finalize)(void* context);
};

template <int V>
struct CollNet {
  static_assert(V >= kOldestCollNet && V <= kNewestCollNet);
  const char* name;
  std::conditional_t<(V >= 11), Result (*)(void**, std::uint64_t, LogFunction), Result (*)(LogFunction)> init;
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, Properties<V>* properties);
  typename NetTypes<V>::Listen listen;
  // May wait for the other members.
  Result (*connect)(void** handles, int members, int self, void* listenComm, void** comm);
  Result (*reduceSupport)(int type, int op, int* supported);
  Result (*regMr)(void* comm, void* data, typename CollNetTypes<V>::RegisteredSize size, int type,
                  void** mhandle);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                        void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  Result (*iallreduce)(void* comm, void* send, void* receive, typename CollNetTypes<V>::Count count, int type,
                       int op, void* sendMemory, void* receiveMemory, void** request);
  [[no_unique_address]] CollNetMiddle<V> middle;
  Result (*iflush)(void* comm, void* data, int size, void* mhandle, void** request);
  Result (*test)(void* request, int* done, int* size);
  Result (*closeColl)(void* comm);
  Result (*closeListen)(void* listenComm);
  [[no_unique_address]] CollNetTail<V> tail;
};
static_assert(sizeof(CollNet<6>) == 120 && sizeof(CollNet<7>) == 120 && sizeof(CollNet<8>) == 136);
static_assert(sizeof(CollNet<9>) == 144 && sizeof(CollNet<10>) == 144);
static_assert(sizeof(CollNet<11>) == 152 && sizeof(CollNet<12>) == 152);

}  // namespace xylem::plugins::abi
