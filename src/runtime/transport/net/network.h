#pragma once
// The interface of networks, which carry messages between hosts: sockets, libfabric, plugins made for NCCL.
// A link carries messages in one direction. They arrive whole and in order, in memory that the receiver has
// offered before. Nothing here waits.
//
//   auto listener = network.listen(0);                    // the receiver; the sender gets handle()
//   auto connector = network.call(0, handle);             // the sender
//   while (!(sender = connector->advance())) ...
//   while (!(receiver = listener->accept())) ...          // the receiver, meanwhile
//   NetRequest* r = receiver->irecv({&buffer, 1});        // null: try again later
//   NetRequest* s = sender->isend(data, bytes, tag);      // the same
//   while (!receiver->test(r, &got)) ...
//
// The interface follows NCCL's net plugins (listen, connect, accept, isend, irecv, test, iflush), so that an
// adapter for them is thin. A broken link throws LinkBroken; anything else that fails throws Error. Their
// texts name no rank; the user of the link adds it.

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "runtime/sockets/socket_address.h"
#include "runtime/transport/queue/pump.h"

namespace xylem::transport {

// The speed that NCCL assumes for a device of unknown speed, in Mbit/s.
constexpr int kUnknownMbits = 10000;

// The address of a listener, in the network's own format: the receiver's side hands it to the sender's.
using NetHandle = std::array<std::byte, 128>;

// Kinds of memory, as bits.
enum NetPointer : unsigned { kHostPointer = 1, kCudaPointer = 2, kDmaBufPointer = 4 };

struct NetProperties {
  std::string name;
  std::string pciPath;     // below /sys; empty for virtual devices
  std::uint64_t guid = 0;  // equal for the functions of one card
  int speed = 0;           // Mbit/s
  int port = 0;
  float latency = 0;  // microseconds; 0: unknown
  int maxLinks = 0;
  int maxReceives = 1;  // buffers of one irecv
  unsigned pointers = kHostPointer;
  bool registrationIsGlobal = false;  // one registration serves all links of the device
  bool needsRegistration = false;     // all memory of messages must be registered
  bool bidirectional = false;         // links have a reverse link (NetListener::reverseLink)
  bool forceFlush = false;            // iflush after every receive into a GPU
  bool flushes = true;                // has iflush
  std::size_t maxBytes = 0;           // of one message
};

// The link is closed or broken. This is often a consequence: the peer may report the cause over another
// connection.
class LinkBroken : public Error {
 public:
  LinkBroken(bool unreachable, const std::string& text)
      : Error(ResultCode::kRemoteError, "{}", text), unreachable_(unreachable) {}
  // True if the other host has stopped answering, false if the link was closed.
  bool unreachable() const { return unreachable_; }

 private:
  bool unreachable_;
};

// A message under way. It belongs to its link and ends with the call of test() that returns true.
struct NetRequest {};
// A registration of memory with a link; null if the network needs none.
struct NetMemory {};

struct NetBuffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // the longest message that fits
  std::uint32_t tag = 0;
  NetMemory* memory = nullptr;
};

class NetLink {
 public:
  virtual ~NetLink() = default;
  virtual NetMemory* registerMemory(std::byte* /*data*/, std::size_t /*bytes*/, NetPointer /*kind*/) {
    return nullptr;
  }
  // The same for memory of a GPU by its DMA-BUF, which the caller closes afterwards.
  virtual NetMemory* registerDmaBuf(std::byte* data, std::size_t bytes, int /*dmaBuf*/) {
    return registerMemory(data, bytes, kCudaPointer);
  }
  virtual void deregisterMemory(NetMemory* /*memory*/) {}

  // Makes progress. Returns whether the request is done; then `bytes`, if not null, gets the message's size.
  virtual bool test(NetRequest* request, std::size_t* bytes = nullptr) = 0;
  // Adds the descriptors that report when test() can make progress. Returns false if there are none: the
  // caller must test again soon.
  virtual bool addTo(std::vector<pollfd>& /*fds*/) const { return false; }
};

class NetSender : public NetLink {
 public:
  // Starts to send. The data must not change until the request is done. Null if the link cannot take the
  // message now: try again later.
  virtual NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                            NetMemory* memory = nullptr) = 0;
};

class NetReceiver : public NetLink {
 public:
  // Starts to receive into one or, if NetProperties::maxReceives permits, several buffers. A message goes to
  // the buffer with its tag. Null if the link cannot take the buffers now.
  virtual NetRequest* irecv(std::span<const NetBuffer> buffers) = 0;
  // Makes received data visible to a GPU. Null if there is nothing to wait for.
  virtual NetRequest* iflush(std::span<const NetBuffer> /*buffers*/) { return nullptr; }
  // Like test(), but reads nothing beyond this message. Networks that can put the payload into `buffer`
  // directly.
  virtual bool testInto(NetRequest* request, ReceiveBuffer& /*buffer*/, std::size_t* bytes = nullptr) {
    return test(request, bytes);
  }
  // Returns whether more may have arrived than the last test() read: a hint that saves system calls.
  virtual bool more() const { return true; }
};

class NetListener {
 public:
  virtual ~NetListener() = default;
  virtual const NetHandle& handle() const = 0;
  // Null until the other side has connected. Then it returns the link once.
  virtual std::unique_ptr<NetReceiver> accept() = 0;
  // After accept() has returned the link, at most once: this side's end of a link in the other direction
  // over the same connection, so that messages one way carry TCP's acknowledgements of the other. The
  // connector must ask for its end, too.
  virtual std::unique_ptr<NetSender> reverseLink() { return nullptr; }
};

class NetConnector {
 public:
  virtual ~NetConnector() = default;
  // Null until it is connected. Then it returns the link once.
  virtual std::unique_ptr<NetSender> advance() = 0;
  // See NetListener::reverseLink.
  virtual std::unique_ptr<NetReceiver> reverseLink() { return nullptr; }
};

class Network {
 public:
  virtual ~Network() = default;
  // `Socket`, `IB`: as NCCL logs it after `NET/`.
  virtual std::string_view name() const = 0;
  virtual int deviceCount() const = 0;
  virtual NetProperties properties(int device) const = 0;
  // The address of the network interface that the device is. Nothing if the device is no interface, or if
  // the network monitors its links itself.
  virtual std::optional<sockets::SocketAddress> address(int /*device*/) const { return std::nullopt; }
  virtual std::unique_ptr<NetListener> listen(int device) = 0;
  virtual std::unique_ptr<NetConnector> call(int device, const NetHandle& handle) = 0;
};

}  // namespace xylem::transport
