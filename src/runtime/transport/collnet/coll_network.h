#pragma once
// The interface of networks that reduce: their switches combine the data of several hosts (CollNet in NCCL).
// It follows NCCL's collNet plugins. coll_connection.h makes queues of a link.
//
//   auto listener = network.listen(device);               // all members gather all handles
//   auto link = network.connect(handles, self, *listener);
//   if (network.reduces(DataType::kFloat32, ReduceOp::kSum)) {
//     NetRequest* r = link->iallreduce(in, out, count, type, op, inMemory, outMemory);
//     while (!link->test(r)) ...
//   }
//
// Unlike Network::call, connect() may wait for the other members.

#include <memory>
#include <span>

#include "core/data_type.h"
#include "runtime/transport/net/network.h"

namespace xylem::transport {

// The peer of queues to and from such a network, in place of a rank: only the network knows which member is
// late.
constexpr int kReducingNetwork = -2;

// A piece of registered memory, of a call that gathers or scatters.
struct CollPart {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// One member's end of the link among the members, one per host, on one channel. A broken link throws
// LinkBroken, as in other networks; its text names the network.
class CollLink {
 public:
  virtual ~CollLink() = default;

  virtual NetMemory* registerMemory(std::byte* data, std::size_t bytes, NetPointer kind) = 0;
  virtual void deregisterMemory(NetMemory* memory) = 0;

  // Starts to reduce. All members must make the same calls in the same order. Null if the link cannot take
  // the request now: try again later.
  virtual NetRequest* iallreduce(const std::byte* in, std::byte* out, std::size_t count, DataType type,
                                 ReduceOp op, NetMemory* inMemory, NetMemory* outMemory) = 0;
  // As iallreduce, where the network gathers() or scatters(). Member m's data comes into the part m of every
  // member; and part m of every member, reduced, comes to member m. All parts have the same length.
  virtual NetRequest* iallgather(const std::byte* in, std::span<const CollPart> out, NetMemory* inMemory,
                                 NetMemory* outMemory) = 0;
  virtual NetRequest* ireducescatter(std::span<const CollPart> in, std::byte* out, DataType type, ReduceOp op,
                                     NetMemory* inMemory, NetMemory* outMemory) = 0;
  // Makes progress. Returns whether the result has arrived.
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
  // The device that is the same card as this device of the network for messages.
  virtual int deviceBeside(int netDevice) const = 0;
  virtual NetProperties properties(int device) const = 0;
  virtual bool reduces(DataType type, ReduceOp op) const = 0;
  virtual bool gathers() const = 0;   // CollLink::iallgather
  virtual bool scatters() const = 0;  // CollLink::ireducescatter
  virtual std::unique_ptr<CollListener> listen(int device) = 0;
  // `handles`: of all members, in their order; this member's is at `self`. The listener is not needed
  // afterwards.
  virtual std::unique_ptr<CollLink> connect(std::span<const NetHandle> handles, int self,
                                            CollListener& listener) = 0;
};

}  // namespace xylem::transport
