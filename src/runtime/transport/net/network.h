#pragma once
// What carries messages between hosts: sockets, a fabric, a plugin made for NCCL. Messages of a link arrive
// whole, in order, into memory that the receiving side has offered beforehand; nothing here waits.
//
//   auto listener = network.listen(0);                    // the receiving side; handle() travels to the
//   other auto caller = network.call(0, handle);                // there while (!(sender =
//   caller->advance())) ... while (!(receiver = listener->accept())) ...          // here, in the meantime
//   NetRequest* r = receiver->irecv({&buffer, 1});        // null: not at the moment
//   NetRequest* s = sender->isend(data, bytes, tag);      // the same
//   while (!receiver->test(r, &got)) ...
//
// The interface follows the net plugins of NCCL (listen, connect, accept, isend, irecv, test, iflush), so
// that an adapter to one of them is thin. Broken links are LinkBroken, anything else that is wrong is an
// Error; neither names a rank, which whoever uses the link knows.

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
#include "runtime/transport/net/landing.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

// Where nothing tells the speed of a device; what NCCL assumes.
constexpr int kUnknownMbits = 10000;

// What the receiving side hands to the sending one.
using NetHandle = std::array<std::byte, 128>;

// Kinds of memory, bits.
enum NetPointer : unsigned { kHostPointer = 1, kCudaPointer = 2, kDmaBufPointer = 4 };

struct NetProperties {
  std::string name;
  std::string pciPath;     // below /sys; empty for virtual devices
  std::uint64_t guid = 0;  // equal for the functions of one card
  int speed = 0;           // Mbit/s
  int port = 0;            //
  float latency = 0;       // microseconds; 0: unknown
  int maxLinks = 0;        //
  int maxReceives = 1;     // buffers of one irecv
  unsigned pointers = kHostPointer;
  bool registrationIsGlobal = false;  // registered memory is known to all links of the device
  bool needsRegistration = false;     // of all memory that is sent from or received into
  bool wayBack = false;               // links have one
  bool forceFlush = false;            // iflush after every receive into a GPU
  std::size_t maxBytes = 0;           // of one message
};

// The link is closed or broken. Why, somebody else may know better: the peer may have said it before.
class LinkBroken : public Error {
 public:
  LinkBroken(bool unreachable, const std::string& text)
      : Error(ResultCode::kRemoteError, "{}", text), unreachable_(unreachable) {}
  // The other host has stopped answering, as opposed to having closed the link.
  bool unreachable() const { return unreachable_; }

 private:
  bool unreachable_;
};

// A message under way. Belongs to its link and ends with the test that says that it is done.
struct NetRequest {};
// Memory that a link knows; null where the network needs no registration.
struct NetMemory {};

struct NetBuffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // at most
  std::uint32_t tag = 0;
  NetMemory* memory = nullptr;
};

class NetLink {
 public:
  virtual ~NetLink() = default;
  virtual NetMemory* registerMemory(std::byte* /*data*/, std::size_t /*bytes*/, NetPointer /*kind*/) {
    return nullptr;
  }
  virtual void deregisterMemory(NetMemory* /*memory*/) {}

  // Moves on; true once it is done. `bytes`, if not null: how many came or went.
  virtual bool test(NetRequest* request, std::size_t* bytes = nullptr) = 0;
  // What to sleep on until a test can make a difference; false: nothing, look again soon.
  virtual bool addTo(std::vector<pollfd>& /*fds*/) const { return false; }
};

class NetSender : public NetLink {
 public:
  // The data must stay until the request is done. Null: not taken, try again later.
  virtual NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                            NetMemory* memory = nullptr) = 0;
};

class NetReceiver : public NetLink {
 public:
  // As many buffers as properties allow; a message goes to the buffer with its tag. Null: not taken.
  virtual NetRequest* irecv(std::span<const NetBuffer> buffers) = 0;
  // Makes what has arrived visible to a GPU. Null: there is nothing to wait for.
  virtual NetRequest* iflush(std::span<const NetBuffer> /*buffers*/) { return nullptr; }
  // As test, without looking beyond this message; what comes of it may go to its landing, as far as the
  // network can do that.
  virtual bool testInto(NetRequest* request, Landing& /*landing*/, std::size_t* bytes = nullptr) {
    return test(request, bytes);
  }
  // Whether more may have arrived than the last test looked at. Only a hint that saves looking.
  virtual bool more() const { return true; }
};

class NetListener {
 public:
  virtual ~NetListener() = default;
  virtual const NetHandle& handle() const = 0;
  // Null until the other side has connected; then, once, the link.
  virtual std::unique_ptr<NetReceiver> accept() = 0;
  // After that, at most once: the end of a link to the caller that shares its wire with this one, so that
  // what is sent acknowledges what was received. The caller has to ask for its end, too.
  virtual std::unique_ptr<NetSender> wayBack() { return nullptr; }
};

class NetCaller {
 public:
  virtual ~NetCaller() = default;
  // Null until connected; then, once, the link.
  virtual std::unique_ptr<NetSender> advance() = 0;
  // As NetListener::wayBack.
  virtual std::unique_ptr<NetReceiver> wayBack() { return nullptr; }
};

class Network {
 public:
  virtual ~Network() = default;
  // `Socket`, `IB`: after `NET/` in NCCL's lines.
  virtual std::string_view name() const = 0;
  virtual int deviceCount() const = 0;
  virtual NetProperties properties(int device) const = 0;
  // Of the interface that the device is; nothing where it is none, or sees to its ways itself.
  virtual std::optional<SocketAddress> address(int /*device*/) const { return std::nullopt; }
  virtual std::unique_ptr<NetListener> listen(int device) = 0;
  virtual std::unique_ptr<NetCaller> call(int device, const NetHandle& handle) = 0;
};

}  // namespace xylem
