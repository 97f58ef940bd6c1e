#include "runtime/transport/net/socket/socket_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/sockets/socket.h"

namespace xylem::transport {
namespace {

std::vector<FileDescriptor> allButFirst(std::vector<FileDescriptor>& sockets) {
  std::vector<FileDescriptor> others;
  for (std::size_t i = 1; i < sockets.size(); ++i) others.push_back(std::move(sockets[i]));
  return others;
}

// Payloads up to this size are copied behind their header, so that one piece of memory is sent.
constexpr std::size_t kMaxCopiedBytes = 512;
// Payloads from this size on are read into their buffer together with their header, by one call with several
// pieces. Shorter ones are read ahead and copied, as each further piece costs the kernel more than the copy.
constexpr std::size_t kMinWholeBytes = 2048;
// Bytes of unread data that one call discards.
constexpr std::size_t kDiscardBytes = std::size_t{16} << 10;

[[noreturn]] void throwUnexpected(const MessageHeader& header, std::uint32_t tag, std::size_t most) {
  throw Error(ResultCode::kInvalidUsage,
              "a message of {} bytes with tag {} arrived where at most {} bytes with tag {} are expected: do "
              "all ranks call the same operations with the same settings?",
              header.bytes, header.tag, most, tag);
}

bool unreachable(int error) { return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH; }

}  // namespace

SocketLink::SocketLink(SocketParts::Direction direction, std::vector<FileDescriptor> sockets, int helpers,
                       std::uint32_t key)
    : socket_(std::move(sockets.front())),
      remote_(sockets::remoteText(socket_.get())),
      parts_(direction, allButFirst(sockets), helpers),
      key_(key) {}

SocketLink::Request* SocketLink::fresh() {
  Request& request = requests_[posted_ % kSocketRequests];
  if (request.used) return nullptr;
  request.used = true;
  request.begun = false;
  request.moved = 0;
  return &request;
}

void SocketLink::startParts(Request& request) {
  const std::size_t bytes = request.header.bytes;
  const std::size_t part = partBytes(bytes, parts_.sockets() + 1);
  request.first = std::min(bytes, part);
  if (request.first == bytes) return;
  const auto others = static_cast<int>((bytes - 1) / part);
  request.partsLeft.store(others, std::memory_order_relaxed);
  for (int i = 0; i < others; ++i) {
    const std::size_t from = part * static_cast<std::size_t>(i + 1);
    parts_.add(i, request.data + from, std::min(part, bytes - from), &request.partsLeft);
  }
}

// Returns whether the first socket has not finished the request: its index is between worked_ and posted_.
bool SocketLink::needsFirst(const Request& request) const {
  const auto number = static_cast<std::uint64_t>(&request - requests_.data());
  return worked_ != posted_ &&
         (number + kSocketRequests - worked_ % kSocketRequests) % kSocketRequests < posted_ - worked_;
}

bool SocketLink::finish(NetRequest* asked, std::size_t* bytes) {
  auto& request = static_cast<Request&>(*asked);
  if (needsFirst(request)) return false;
  if (request.partsLeft.load(std::memory_order_acquire) > 0) return false;
  if (bytes != nullptr) *bytes = request.header.bytes;
  request.used = false;
  return true;
}

bool SocketLink::addTo(std::vector<pollfd>& fds, short events) const {
  if (worked_ != posted_) {
    fds.push_back({socket_.get(), events, 0});
    if (!parts_.hasHelpers()) parts_.addTo(fds);
    return true;
  }
  if (parts_.hasHelpers()) return false;
  parts_.addTo(fds);
  return true;
}

// The peer may have closed the first socket after its last message, whose other parts still arrive.
void SocketLink::checkBroken(const NetRequest* request) const {
  const bool first = failure_ != 0 && needsFirst(static_cast<const Request&>(*request));
  const int error = first ? failure_ : parts_.failure();
  if (error == 0) return;
  if (error < 0) throw LinkBroken(false, fmt::format("{} closed a connection that carries data", remote_));
  throw LinkBroken(unreachable(error),
                   fmt::format("the connection to {} broke: {}", remote_, errnoText(error)));
}

SocketSender::SocketSender(std::vector<FileDescriptor> sockets, int helpers, std::uint32_t key)
    : SocketLink(SocketParts::Direction::kSend, std::move(sockets), helpers, key) {}

NetRequest* SocketSender::isend(const std::byte* data, std::size_t bytes, std::uint32_t tag, NetMemory*) {
  Request* request = fresh();
  if (request == nullptr) return nullptr;
  request->data = const_cast<std::byte*>(data);  // only read
  request->header = {bytes, tag, check(posted_)};
  ++posted_;
  startParts(*request);
  progress();
  return request;
}

bool SocketSender::test(NetRequest* request, std::size_t* bytes) {
  if (finish(request, bytes)) return true;
  progress();
  if (finish(request, bytes)) return true;
  checkBroken(request);
  return false;
}

// Hands the socket the rest of the header and the first part. Returns the number of bytes that it took, or
// -1.
ssize_t SocketSender::sendRest(const Request& request) const {
  const auto* header = reinterpret_cast<const std::byte*>(&request.header);
  constexpr std::size_t kHeader = sizeof(MessageHeader);
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (request.moved >= kHeader)
    return send(socket_.get(), request.data + (request.moved - kHeader),
                kHeader + request.first - request.moved, kFlags);
  if (request.first <= kMaxCopiedBytes) {
    // One piece costs the kernel less than two.
    std::array<std::byte, kHeader + kMaxCopiedBytes> piece;
    std::memcpy(piece.data(), header, kHeader);
    if (request.first > 0) std::memcpy(piece.data() + kHeader, request.data, request.first);
    return send(socket_.get(), piece.data() + request.moved, kHeader + request.first - request.moved, kFlags);
  }
  iovec pieces[2] = {{const_cast<std::byte*>(header) + request.moved, kHeader - request.moved},
                     {request.data, request.first}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  return sendmsg(socket_.get(), &message, kFlags);
}

void SocketSender::progress() {
  while (failure_ == 0) {
    Request* const request = current();
    if (request == nullptr) break;
    const ssize_t n = sendRest(*request);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (n < 0) {
      failure_ = errno;
      break;
    }
    request->moved += static_cast<std::size_t>(n);
    if (request->moved == sizeof(MessageHeader) + request->first) ++worked_;
  }
  parts_.move();
}

SocketReceiver::SocketReceiver(std::vector<FileDescriptor> sockets, int helpers, std::uint32_t key)
    : SocketLink(SocketParts::Direction::kReceive, std::move(sockets), helpers, key) {}

// Closing a socket with unread data resets the connection, which would destroy data sent in the other
// direction.
SocketReceiver::~SocketReceiver() {
  std::array<std::byte, kDiscardBytes> rest;
  while (recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT) > 0) continue;
}

NetRequest* SocketReceiver::irecv(std::span<const NetBuffer> buffers) {
  if (buffers.size() != 1)
    throw Error(ResultCode::kInternalError, "sockets receive into one buffer at a time, not into {}",
                buffers.size());
  Request* request = fresh();
  if (request == nullptr) return nullptr;
  request->data = buffers[0].data;
  request->capacity = buffers[0].bytes;
  request->header = {0, buffers[0].tag, check(posted_)};
  ++posted_;
  return request;
}

bool SocketReceiver::test(NetRequest* request, std::size_t* bytes) {
  if (finish(request, bytes)) return true;
  progress();
  if (finish(request, bytes)) return true;
  checkBroken(request);
  return false;
}

bool SocketReceiver::testInto(NetRequest* request, ReceiveBuffer& buffer, std::size_t* bytes) {
  if (finish(request, bytes)) return true;
  progress(request, &buffer);
  if (finish(request, bytes)) return true;
  checkBroken(request);
  return false;
}

// Reads what has arrived into the pieces, one after the other. Returns the number of bytes; 0 if none.
std::size_t SocketReceiver::receive(std::span<iovec> pieces) {
  ssize_t n;
  if (pieces.size() == 1) {
    n = recv(socket_.get(), pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT);
  } else {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    n = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  }
  std::size_t asked = 0;
  for (const iovec& piece : pieces) asked += piece.iov_len;
  drained_ = n < static_cast<ssize_t>(asked);
  if (n > 0) return static_cast<std::size_t>(n);
  if (n == 0)
    failure_ = -1;
  else if (errno != EAGAIN && errno != EINTR)
    failure_ = errno;
  return 0;
}

// Reads the rest of a payload and, behind it, up to `ahead` bytes of what follows. Returns whether any byte
// arrived.
bool SocketReceiver::receiveInto(std::byte* rest, std::size_t bytes, std::size_t ahead, std::size_t& got) {
  if (staged() == 0) stagedBegin_ = stagedEnd_ = 0;
  iovec pieces[2] = {{rest, bytes},
                     {staging_.data() + stagedEnd_, std::min(ahead, kStagingBytes - stagedEnd_)}};
  const std::size_t read = receive(bytes == 0 ? std::span(pieces).last(1) : std::span(pieces));
  got = std::min(read, bytes);
  stagedEnd_ += read - got;
  return read > 0;
}

// Returns whether one read may get all of the next message, provided that it is as long as its reader
// expects.
bool SocketReceiver::comesWhole(const Request& request, const ReceiveBuffer& buffer) const {
  return !request.begun && staged() == 0 && buffer.bytes >= kMinWholeBytes &&
         buffer.bytes <= request.capacity && partBytes(buffer.bytes, parts_.sockets() + 1) >= buffer.bytes;
}

// Reads header, payload and following bytes with one call, each into its place: this assumes that the
// message has the length that its reader expects. If not, moves the bytes to where they belong. Returns
// false if the header is not complete.
bool SocketReceiver::receiveWhole(Request& request, ReceiveBuffer& buffer) {
  std::byte* const to = buffer.data != nullptr ? buffer.data : request.data;
  std::byte* const behind = staging_.data() + sizeof(MessageHeader);
  const std::size_t ahead = std::min(aheadOf(buffer.bytes), kStagingBytes - sizeof(MessageHeader));
  iovec pieces[3] = {{staging_.data(), sizeof(MessageHeader)}, {to, buffer.bytes}, {behind, ahead}};
  const std::size_t read = receive(pieces);
  stagedBegin_ = 0;
  stagedEnd_ = std::min(read, sizeof(MessageHeader));
  if (stagedEnd_ < sizeof(MessageHeader) || !begin(request)) return false;
  const std::size_t came = read - sizeof(MessageHeader);
  const std::size_t payload = std::min(came, buffer.bytes);
  request.moved = std::min(payload, request.first);
  if (request.header.bytes == buffer.bytes) {
    if (buffer.data != nullptr) buffer.filled = payload;
  } else {
    // The message has another length: its payload goes to the posted buffer, and bytes behind it to the
    // staging buffer.
    const std::size_t excess = payload - request.moved;
    if (excess + (came - payload) > kStagingBytes - sizeof(MessageHeader))
      throwUnexpected(request.header, request.header.tag, buffer.bytes);
    if (to != request.data && request.moved > 0) std::memcpy(request.data, to, request.moved);
    std::memmove(behind + excess, behind, came - payload);
    if (excess > 0) std::memcpy(behind, to + request.moved, excess);
    stagedEnd_ += excess;
  }
  stagedEnd_ += came - payload;
  return true;
}

// Reads and checks the header of the next message. Returns false if it is not complete.
bool SocketReceiver::begin(Request& request) {
  while (staged() < sizeof(MessageHeader)) {
    if (stagedBegin_ + sizeof(MessageHeader) > kStagingBytes) {
      std::memmove(staging_.data(), staging_.data() + stagedBegin_, staged());
      stagedEnd_ = staged();
      stagedBegin_ = 0;
    }
    std::size_t none = 0;
    if (!receiveInto(nullptr, 0, kStagingBytes, none)) return false;
  }
  MessageHeader header;
  std::memcpy(&header, staging_.data() + stagedBegin_, sizeof header);
  if (header.check != request.header.check)
    throw Error(ResultCode::kInternalError, "{} sent something that is not the next message of this link",
                remote_);
  if (header.bytes > request.capacity || header.tag != request.header.tag)
    throwUnexpected(header, request.header.tag, request.capacity);
  stagedBegin_ += sizeof header;
  request.header = header;
  request.begun = true;
  startParts(request);
  return true;
}

// Reads the first part of the payload to `to`. Returns whether it is complete.
bool SocketReceiver::fill(Request& request, std::byte* to) {
  if (const std::size_t ready = std::min(staged(), request.first - request.moved); ready > 0) {
    std::memcpy(to + request.moved, staging_.data() + stagedBegin_, ready);
    stagedBegin_ += ready;
    request.moved += ready;
  }
  while (request.moved < request.first) {
    std::size_t got = 0;
    if (!receiveInto(to + request.moved, request.first - request.moved, aheadOf(request.first), got))
      return false;
    request.moved += got;
  }
  return true;
}

void SocketReceiver::progress(const NetRequest* awaited, ReceiveBuffer* buffer) {
  while (failure_ == 0) {
    Request* const request = current();
    if (request == nullptr) break;
    if (request == awaited && comesWhole(*request, *buffer)) {
      if (!receiveWhole(*request, *buffer)) break;
    } else if (!request->begun && !begin(*request)) {
      break;
    }
    const bool direct = request == awaited && buffer->data != nullptr && request->first == buffer->bytes &&
                        request->header.bytes == buffer->bytes && request->moved == buffer->filled;
    const bool complete = fill(*request, direct ? buffer->data : request->data);
    if (direct) buffer->filled = request->moved;
    if (!complete) break;
    ++worked_;
    // A reader that waits for this message gets it before anything else is read.
    if (request == awaited || staged() == 0) break;
  }
  parts_.move();
}

}  // namespace xylem::transport
