#pragma once
// The two ends of a link over connected TCP sockets, for one direction: SocketSender and SocketReceiver.
//
//   SocketSender sender(std::move(sockets), helpers, key);
//   NetRequest* r = sender.isend(data, bytes, tag);       // straight into the socket, as far as it takes
//   them
//
// A message is a header and, behind it, the payload; of large ones the first socket carries the first part
// and the other sockets the others. The receiver believes nothing in a header before it has compared it with
// what was posted and with the number that is due on this link.

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <string>

#include "core/file_descriptor.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/net/socket_layout.h"
#include "runtime/transport/net/socket_parts.h"

namespace xylem {

// Requests of a link that may be unfinished (NCCL's plugins promise as many).
constexpr std::size_t kSocketRequests = 32;

struct MessageHeader {
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;
  std::uint32_t check = 0;  // the link's key and the message's number
};
static_assert(sizeof(MessageHeader) == 16);

// What both ends have: the sockets, and a ring of requests that are worked off in order.
class SocketLink {
 protected:
  struct Request : NetRequest {
    std::byte* data = nullptr;
    std::size_t capacity = 0;       // receiving: what was offered
    MessageHeader header;           // receiving: before it has come, what is expected
    std::size_t first = 0;          // bytes of the first part, and
    std::size_t moved = 0;          // how many went; sending: with the header
    std::atomic<int> partsLeft{0};  // on other sockets
    bool begun = false;             // receiving: the header has come
    bool used = false;
  };

  SocketLink(SocketParts::Direction direction, std::vector<FileDescriptor> sockets, int helpers,
             std::uint32_t key);
  // A request that is free, or null.
  Request* fresh();
  // The oldest that the first socket is not through with, or null.
  Request* current() { return worked_ == posted_ ? nullptr : &requests_[worked_ % kSocketRequests]; }
  std::uint32_t check(std::uint64_t number) const { return key_ ^ static_cast<std::uint32_t>(number); }
  // Gives the other sockets their parts of a message.
  void startParts(Request& request);
  // Frees the request and says true if all of it is through.
  bool finish(NetRequest* asked, std::size_t* bytes);
  bool addTo(std::vector<pollfd>& fds, short events) const;
  // Throws if nothing will ever move again. What has come before is given out first.
  void checkBroken(const NetRequest* request) const;
  bool needsFirst(const Request& request) const;

  FileDescriptor socket_;
  std::string remote_;  // a broken connection does not know
  std::array<Request, kSocketRequests> requests_;
  SocketParts parts_;  // its threads count in the requests
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
  bool testInto(NetRequest* request, Landing& landing, std::size_t* bytes) override;
  bool more() const override { return !drained_ || staged() > 0; }
  bool addTo(std::vector<pollfd>& fds) const override { return SocketLink::addTo(fds, POLLIN); }

 private:
  // Bytes are read ahead into a small buffer, so that a small message and its header take one system call.
  static constexpr std::size_t kStagingBytes = 8192;
  std::size_t staged() const { return stagedEnd_ - stagedBegin_; }
  // What to read behind a payload. Behind a large one comes another, which had better not be copied.
  static constexpr std::size_t aheadOf(std::size_t payload) {
    return payload > kStagingBytes ? sizeof(MessageHeader) : kStagingBytes;
  }
  // With a landing: of `landingOf`, beyond which it does not go.
  void progress(const NetRequest* landingOf = nullptr, Landing* landing = nullptr);
  bool begin(Request& request);
  bool comesWhole(const Request& request, const Landing& landing) const;
  bool receiveWhole(Request& request, Landing& landing);
  std::size_t receive(std::span<iovec> pieces);
  bool fill(Request& request, std::byte* to);
  bool receiveInto(std::byte* rest, std::size_t bytes, std::size_t ahead, std::size_t& got);

  bool drained_ = false;  // the last read brought less than it could have
  std::size_t stagedBegin_ = 0;
  std::size_t stagedEnd_ = 0;
  std::array<std::byte, kStagingBytes> staging_;
};

}  // namespace xylem
