#pragma once
// The memory that a rank and its proxy rank share. A rank sends through the network device of another rank of its host if the plan says
// so (PXN in NCCL's words): it writes steps into a queue as always, and the proxy thread of that other rank, its proxy rank, carries
// them into the network. The queue's memory is the ProxiedQueueState, in a page of its own, and the queue; the rank makes it and sends it with a
// ProxyRequest. Beside that, the pair has one ProxyDesk for all queues in this direction.
//
//   proxied_queue.h   the rank's end of a queue          proxy_ranks.h     the pairs of ranks
//   carried_queue.h   the proxy rank's end of a queue
//
// A proxy thread sleeps if there is nothing to do. A rank first does what it wants the thread to see (raises a queue's tail), then
// increments `attention`, then loads `asleep`. The thread stores `asleep`, then loads `attention`. The last two of each are
// sequentially consistent, so either the thread sees that it has something to do, or the rank sees that it must ring the bell.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/transport/local/shared_memory.h"
#include "runtime/transport/net/device_memory.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

struct ProxyDesk {
  // By the rank:
  alignas(kCounterBytes) std::atomic<std::uint64_t> attention;
  std::atomic<std::uint64_t> requests;  // how many ProxyRequests it has sent
  std::atomic<std::uint32_t> over;      // 1: it needs the proxy rank no longer
  // By the proxy rank:
  alignas(kCounterBytes) std::atomic<std::uint32_t> asleep;  // 1: its thread sleeps until its bell rings
  std::atomic<std::uint32_t> refuses;  // 1: it could not take a request, and takes no more
};

// The body of the message that asks a proxy rank to carry a queue; the descriptor of its memory comes with it.
struct ProxyRequest {
  std::int32_t receiver = -1;  // the rank that receives
  std::int32_t device = 0;     // of the network
  std::uint64_t gdr = 0;       // 1: the slots should be in the memory of the proxy rank's GPU
  StepBytes stepBytes{};
  NetHandle handle{};  // of the receiver's listener
};

struct ProxiedQueueState {
  // kOffered: the slots may be in the memory of the proxy rank's GPU, and the rank says whether its own GPU reaches that.
  static constexpr std::uint32_t kConnecting = 0, kOffered = 1, kConnected = 2, kFailed = 3;
  static constexpr std::uint32_t kReached = 1, kRefused = 2;
  // By the proxy rank:
  std::atomic<std::uint32_t> state;
  DeviceHandle slots;            // before kOffered
  std::array<char, 512> reason;  // before kFailed; ends with a zero
  // By the rank:
  std::atomic<std::uint32_t> answer;  // to kOffered; 0: not yet
  std::atomic<std::uint32_t> over;    // 1: it sends no more, and what is in the queue need not be sent
};

// The memory of one queue.
class ProxiedMemory {
 public:
  // The rank's; zeroed.
  explicit ProxiedMemory(const StepBytes& stepBytes);
  // At the proxy rank. Throws if there is less memory behind the descriptor.
  ProxiedMemory(FileDescriptor memory, const StepBytes& stepBytes);

  ProxiedQueueState& state() const;
  // With all its slots here, or with those of Simple in other memory.
  QueueMemory queue() const;
  QueueMemory queue(std::byte* slots) const;
  int fd() const { return memory_.fd(); }
  void closeFd() { memory_.closeFd(); }

 private:
  static std::size_t bytesOf(const StepBytes& stepBytes);
  SharedMemory memory_;
  StepBytes stepBytes_;
};

}  // namespace xylem::transport
