#pragma once
// The two ends of a link over connected TCP sockets, which carries messages in one direction.
//
//   SocketSender sender(std::move(sockets), helpers, key);
//   NetRequest* r = sender.isend(data, bytes, tag);   // straight into the socket if it has space
//
// A message is a header followed by the payload. The first socket carries the header and the first part of
// the payload, the other sockets carry the other parts of large payloads. The receiver checks each header
// against the posted buffer and the number of the message that is due before it trusts the header.

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <string>

#include "core/file_descriptor.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/net/socket/socket_layout.h"
#include "runtime/transport/net/socket/socket_parts.h"

namespace xylem::transport {

// Requests of a link that may be unfinished at once, as many as NCCL's net plugins promise.
constexpr std::size_t kSocketRequests = 32;

struct MessageHeader {
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;
  std::uint32_t check = 0;  // the link's key and the message's number
};
static_assert(sizeof(MessageHeader) == 16);

// The common part of both ends: the sockets, and a ring of requests that are processed in order. posted_
// counts all requests, worked_ those that the first socket has finished.
class SocketLink {
 protected:
  struct Request : NetRequest {
    std::byte* data = nullptr;
    std::size_t capacity = 0;       // receiving: bytes of the posted buffer
    MessageHeader header;           // receiving: the expected one until it has arrived
    std::size_t first = 0;          // bytes of the first part
    std::size_t moved = 0;          // bytes of it that have moved; sending: including the header
    std::atomic<int> partsLeft{0};  // unfinished parts on other sockets
    bool begun = false;             // receiving: the header has arrived
    bool used = false;
  };

  SocketLink(SocketParts::Direction direction, std::vector<FileDescriptor> sockets, int helpers,
             std::uint32_t key);
  // The next request of the ring, reset; null if it is still in use.
  Request* fresh();
  // The oldest request that the first socket has not finished; null if there is none.
  Request* current() { return worked_ == posted_ ? nullptr : &requests_[worked_ % kSocketRequests]; }
  std::uint32_t check(std::uint64_t number) const { return key_ ^ static_cast<std::uint32_t>(number); }
  // Hands the other sockets their parts of a message.
  void startParts(Request& request);
  // Returns whether all of a request is finished, and frees it then.
  bool finish(NetRequest* asked, std::size_t* bytes);
  bool addTo(std::vector<pollfd>& fds, short events) const;
  // Throws if the request will never finish. Messages that arrived completely before a failure are still
  // returned.
  void checkBroken(const NetRequest* request) const;
  bool needsFirst(const Request& request) const;

  FileDescriptor socket_;
  std::string remote_;  // kept, as a broken connection no longer knows its peer's address
  std::array<Request, kSocketRequests> requests_;
  SocketParts parts_;  // behind requests_, in which its threads count
  std::uint32_t key_;
  int failure_ = 0;  // of the first socket: an errno value, or -1 if the other side closed it
  std::uint64_t posted_ = 0;
  std::uint64_t worked_ = 0;
};

class SocketSender : public NetSender, private SocketLink {
 public:
  SocketSender(std::vector<FileDescriptor> sockets, int helpers, std::uint32_t key);
  NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t tag, NetMemory* memory) override;
  bool test(NetRequest* request, std::size_t* bytes) override;
  bool addTo(std::vector<pollfd>& fds) const override { return SocketLink::addTo(fds, POLLOUT); }

 private:
  ssize_t sendRest(const Request& request) const;
  void progress();
};

class SocketReceiver : public NetReceiver, private SocketLink {
 public:
  SocketReceiver(std::vector<FileDescriptor> sockets, int helpers, std::uint32_t key);
  ~SocketReceiver() override;
  NetRequest* irecv(std::span<const NetBuffer> buffers) override;
  bool test(NetRequest* request, std::size_t* bytes) override;
  bool testInto(NetRequest* request, ReceiveBuffer& buffer, std::size_t* bytes) override;
  bool more() const override { return !drained_ || staged() > 0; }
  bool addTo(std::vector<pollfd>& fds) const override { return SocketLink::addTo(fds, POLLIN); }

 private:
  // Bytes are read ahead into a small buffer, so that one system call reads a small message and its header.
  static constexpr std::size_t kStagingBytes = 8192;
  std::size_t staged() const { return stagedEnd_ - stagedBegin_; }
  // How many bytes to read ahead behind a payload. Behind a large payload only a header: the next payload is
  // probably large, too, and should not be copied.
  static constexpr std::size_t aheadOf(std::size_t payload) {
    return payload > kStagingBytes ? sizeof(MessageHeader) : kStagingBytes;
  }
  // With `awaited`: the payload of that request goes to `buffer`, and nothing behind the request is read.
  void progress(const NetRequest* awaited = nullptr, ReceiveBuffer* buffer = nullptr);
  bool begin(Request& request);
  bool comesWhole(const Request& request, const ReceiveBuffer& buffer) const;
  bool receiveWhole(Request& request, ReceiveBuffer& buffer);
  std::size_t receive(std::span<iovec> pieces);
  bool fill(Request& request, std::byte* to);
  bool receiveInto(std::byte* rest, std::size_t bytes, std::size_t ahead, std::size_t& got);

  bool drained_ = false;  // the last read got fewer bytes than it asked for
  std::size_t stagedBegin_ = 0;
  std::size_t stagedEnd_ = 0;
  std::array<std::byte, kStagingBytes> staging_;
};

}  // namespace xylem::transport
