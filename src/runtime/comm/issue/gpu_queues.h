#pragma once
// The queues of a communicator as the kernels of its GPU use them. Between GPUs of one host that reach each other's memory (P2P) a
// queue is in the memory of the GPU that reads; others are in pinned memory of the host. The ranks agree on the queues of collectives
// when they join, with a barrier between any two of these:
//
//   queues.offerMemory(); ...; queues.acceptMemory(); ...; queues.useMemory();
//
// and on those of a connection for sends and receives once it is made, when agreeOnMemory(connection) returns true on both ranks.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/join/links.h"
#include "runtime/gpu/gpu_context.h"
#include "runtime/gpu/shared_memory.h"

namespace xylem::comm {

class GpuQueues {
 public:
  // How the GPU of another rank may be reached. Not at all, if it is none of this host, or not by the settings of this rank; its
  // memory from this process, where it is device `device`, or from another one.
  struct Reach {
    enum class By { kNone, kForbidden, kProcess, kName } by = By::kNone;
    int device = -1;
    bool isOwn = false;  // it is the GPU of this rank
    // And so may buffers of the program, by kProcess: the reader reads the writer's, or the writer writes the reader's.
    bool readsBuffers = false, writesBuffers = false;
  };
  using ReachOfRank = std::function<Reach(int rank)>;

  // `channels` have the queues of collectives. useMemory() pins those of them that stay in memory of the host: while kernels run, the
  // driver may wait for them before it pins memory, and they may wait for the kernel that needs it.
  GpuQueues(const gpu::GpuContext& gpu, std::span<const ChannelLinks> channels, ReachOfRank reach);

  void offerMemory();
  void acceptMemory();
  void useMemory();
  // Returns false as long as the peer has not said what it offers and accepts.
  bool agreeOnMemory(transport::Connection& connection);
  // The ranks that turned out not to exchange memory with this one although ReachOfRank says so, and why, if this rank knows that. Each
  // is returned once.
  std::map<int, std::string> takeUnreached();

  // An end of a queue, as long as the connection lives.
  struct End {
    transport::QueueMemory queue;
    std::uint64_t* step = nullptr;  // its position
    bool references = false;        // as in gpu::QueueEnd
    bool places = false;            // the writer reaches the reader's output: gpu::QueueEnd::offer
    // Memory of the reader's GPU. The writer has it, too, as its kernel may end later.
    std::shared_ptr<std::byte> device;
    // Memory of the host, if `device` is null.
    std::unique_ptr<gpu::RegisteredMemory> pinned;
  };
  // The end of a SendEnd or RecvEnd. Memory of the host is pinned the first time.
  template <typename QueueSide>
  const End& endOf(const QueueSide& side);
  // Whether other GPUs read or write buffers of this rank, which may not be of any memory then (gpu::Place::peersReach).
  bool othersReadBuffers() const { return othersReadBuffers_; }
  bool othersWriteBuffers() const { return othersWriteBuffers_; }
  // How memory was offered to other processes; kNothing: not yet.
  gpu::MemoryName::By namedBy() const { return namedBy_; }

 private:
  template <typename Visit>
  void eachCollectiveEnd(Visit&& visit);
  template <typename QueueSide>
  End& find(const QueueSide& side);
  std::shared_ptr<std::byte> newMemory(transport::DeviceQueue& offer, std::size_t bytes, Reach::By by);
  gpu::NamedMemory offeredMemory(const transport::DeviceQueue& offer, const Reach& way) const;
  void offer(const transport::RecvEnd& side);
  void accept(const transport::SendEnd& side);
  template <typename QueueSide>
  void useMemoryOf(const QueueSide& side);
  void noteUnreached(int rank);
  bool reaches(int device) const;
  std::uint64_t* newStep();

  const gpu::GpuContext& gpu_;
  const std::span<const ChannelLinks> channels_;
  const ReachOfRank reach_;
  std::vector<gpu::GpuMemory> steps_;  // positions of ends, in pieces
  std::size_t usedSteps_ = 0;          // of the last piece
  std::map<const void*, End> ends_;    // by SendEnd and RecvEnd
  std::set<const transport::Connection*> agreed_;
  bool othersReadBuffers_ = false, othersWriteBuffers_ = false;
  struct Unreached {
    std::string why;  // this rank does not reach the other one's memory, if that is so. It does not try again
    enum { kNotNoted, kNoted, kTaken } state = kNotNoted;
  };
  std::map<int, Unreached> unreached_;  // by rank
  gpu::MemoryName::By namedBy_ = gpu::MemoryName::By::kNothing;
};

}  // namespace xylem::comm
