#pragma once
// A network that reduces by itself: switches that add up what several hosts send (CollNet in NCCL's terms).
// An interface only: nothing here implements it, and a communicator without one has no CollNet algorithms.
//
//   auto listener = network.listen(device);               // all members exchange their handles
//   auto group = network.connect(handles, myIndex, *listener);
//   if (group->reduces(DataType::kFloat32, ReduceOp::kSum)) {
//     NetRequest* r = group->iallreduce(in, out, count, type, op, inMemory, outMemory);
//     while (!group->test(r)) ...
//   }
//
// Follows NCCL's collNet plugins. Unlike connecting two ranks, `connect` may wait for the other members.

#include <memory>
#include <span>

#include "core/data_type.h"
#include "transport/network.h"

namespace xylem {

// The members of a collective operation, one for each host and rail.
class CollLink {
 public:
  virtual ~CollLink() = default;
  virtual bool reduces(DataType type, ReduceOp op) const = 0;

  virtual NetMemory* registerMemory(std::byte* data, std::size_t bytes, NetPointer kind) = 0;
  virtual void deregisterMemory(NetMemory* memory) = 0;

  // All of them: null if not taken at the moment. All members make the same calls in the same order.
  virtual NetRequest* iallreduce(const std::byte* in, std::byte* out, std::size_t count, DataType type,
                                 ReduceOp op, NetMemory* inMemory, NetMemory* outMemory) = 0;
  // Of the array that all members' `bytesPerRank` make, the `windowBytes` from `windowOffset` on.
  virtual NetRequest* iallgather(const std::byte* in, std::span<const NetBuffer> out,
                                 std::size_t bytesPerRank, std::size_t windowOffset, std::size_t windowBytes,
                                 NetMemory* inMemory) = 0;
  virtual NetRequest* ireducescatter(std::span<const NetBuffer> in, std::byte* out, std::size_t bytesPerRank,
                                     std::size_t windowOffset, std::size_t windowBytes, DataType type,
                                     ReduceOp op, NetMemory* outMemory) = 0;
  // Makes what has arrived visible to a GPU. Null: there is nothing to wait for.
  virtual NetRequest* iflush(std::byte* data, std::size_t bytes, NetMemory* memory) = 0;
  virtual bool test(NetRequest* request, std::size_t* bytes = nullptr) = 0;
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
  virtual int deviceCount() const = 0;
  virtual NetProperties properties(int device) const = 0;
  virtual std::unique_ptr<CollListener> listen(int device) = 0;
  // `handles`: of all members in their order, this one at `self`.
  virtual std::unique_ptr<CollLink> connect(std::span<const NetHandle> handles, int self,
                                            CollListener& listener) = 0;
};

}  // namespace xylem
