#pragma once
// A network that reduces by itself: switches that add up what several hosts send (CollNet in NCCL's terms).
//
//   auto listener = network.listen(device);               // all members exchange their handles
//   auto link = network.connect(handles, self, *listener);
//   if (network.reduces(DataType::kFloat32, ReduceOp::kSum)) {
//     NetRequest* r = link->iallreduce(in, out, count, type, op, inMemory, outMemory);
//     while (!link->test(r)) ...
//   }
//
// Follows NCCL's collNet plugins, as far as an AllReduce needs them. Unlike connecting two ranks, `connect`
// may wait for the other members. coll_connection.h makes queues of a link.

#include <memory>
#include <span>

#include "core/data_type.h"
#include "runtime/transport/net/network.h"

namespace xylem {

// In place of a peer's rank, at the ends of queues: whom one waits for there only the network knows.
constexpr int kReducingNetwork = -2;

// One member's end of what joins the members, one of each host, on one channel. Broken links are LinkBroken,
// as those of other networks; the text names the network.
class CollLink {
 public:
  virtual ~CollLink() = default;

  virtual NetMemory* registerMemory(std::byte* data, std::size_t bytes, NetPointer kind) = 0;
  virtual void deregisterMemory(NetMemory* memory) = 0;

  // Null if it is not taken at the moment. All members make the same calls in the same order.
  virtual NetRequest* iallreduce(const std::byte* in, std::byte* out, std::size_t count, DataType type,
                                 ReduceOp op, NetMemory* inMemory, NetMemory* outMemory) = 0;
  // Moves on; true once the result is there.
  virtual bool test(NetRequest* request) = 0;
};

class CollListener {
 public:
  virtual ~CollListener() = default;
  virtual const NetHandle& handle() const = 0;
};

class CollNetwork {
 public:
  virtual ~CollNetwork() = default;
  virtual std::string_view name() const = 0;
  // The device that is also the one of this number of the network for messages.
  virtual int deviceBeside(int netDevice) const = 0;
  virtual NetProperties properties(int device) const = 0;
  virtual bool reduces(DataType type, ReduceOp op) const = 0;
  virtual std::unique_ptr<CollListener> listen(int device) = 0;
  // `handles`: of all members in their order, this one at `self`. The listener is not needed afterwards.
  virtual std::unique_ptr<CollLink> connect(std::span<const NetHandle> handles, int self,
                                            CollListener& listener) = 0;
};

}  // namespace xylem
