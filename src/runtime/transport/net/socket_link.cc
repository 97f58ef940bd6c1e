#include "runtime/transport/net/socket_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/sockets/socket.h"

namespace xylem {
namespace {

std::vector<FileDescriptor> allButFirst(std::vector<FileDescriptor>& sockets) {
  std::vector<FileDescriptor> others;
  for (std::size_t i = 1; i < sockets.size(); ++i) others.push_back(std::move(sockets[i]));
  return others;
}

// Payloads up to this are copied behind their header.
constexpr std::size_t kCopied = 512;
// Payloads from this on come in one read with their header, to where they belong; of shorter ones a copy
// costs less than what more pieces cost the system.
constexpr std::size_t kLeastWhole = 2048;
// At a time.
constexpr std::size_t kDiscarded = std::size_t{16} << 10;

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
      remote_(remoteText(socket_.get())),
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

// Whether it is not yet through the first socket: among those from worked_ to posted_.
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

// The peer may have closed the first socket behind its last message, whose other parts still arrive.
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

// Hands the socket what is left of header and first part: the number of bytes that it took, or -1.
ssize_t SocketSender::sendRest(const Request& request) const {
  const auto* header = reinterpret_cast<const std::byte*>(&request.header);
  constexpr std::size_t kHeader = sizeof(MessageHeader);
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (request.moved >= kHeader)
    return send(socket_.get(), request.data + (request.moved - kHeader),
                kHeader + request.first - request.moved, kFlags);
  if (request.first <= kCopied) {
    // One piece costs the system less than two.
    std::array<std::byte, kHeader + kCopied> piece;
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

// A socket that is closed with something unread takes back what was sent over it the other way.
SocketReceiver::~SocketReceiver() {
  std::array<std::byte, kDiscarded> rest;
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

bool SocketReceiver::testInto(NetRequest* request, Landing& landing, std::size_t* bytes) {
  if (finish(request, bytes)) return true;
  progress(request, &landing);
  if (finish(request, bytes)) return true;
  checkBroken(request);
  return false;
}

// What there is, piece by piece: how much, 0 if there is nothing.
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

// Reads the rest of a payload and, behind it, up to `ahead` bytes of what comes next. False if there was
// nothing.
bool SocketReceiver::receiveInto(std::byte* rest, std::size_t bytes, std::size_t ahead, std::size_t& got) {
  if (staged() == 0) stagedBegin_ = stagedEnd_ = 0;
  iovec pieces[2] = {{rest, bytes},
                     {staging_.data() + stagedEnd_, std::min(ahead, kStagingBytes - stagedEnd_)}};
  const std::size_t read = receive(bytes == 0 ? std::span(pieces).last(1) : std::span(pieces));
  got = std::min(read, bytes);
  stagedEnd_ += read - got;
  return read > 0;
}

// Whether all of the next message, if it is as long as its reader expects, may come in one read.
bool SocketReceiver::comesWhole(const Request& request, const Landing& landing) const {
  return !request.begun && staged() == 0 && landing.bytes >= kLeastWhole &&
         landing.bytes <= request.capacity && partBytes(landing.bytes, parts_.sockets() + 1) >= landing.bytes;
}

// Header, payload and what is behind it, each to where it belongs. False if not all of the header is there.
bool SocketReceiver::receiveWhole(Request& request, Landing& landing) {
  std::byte* const to = landing.data != nullptr ? landing.data : request.data;
  std::byte* const behind = staging_.data() + sizeof(MessageHeader);
  const std::size_t ahead = std::min(aheadOf(landing.bytes), kStagingBytes - sizeof(MessageHeader));
  iovec pieces[3] = {{staging_.data(), sizeof(MessageHeader)}, {to, landing.bytes}, {behind, ahead}};
  const std::size_t read = receive(pieces);
  stagedBegin_ = 0;
  stagedEnd_ = std::min(read, sizeof(MessageHeader));
  if (stagedEnd_ < sizeof(MessageHeader) || !begin(request)) return false;
  const std::size_t came = read - sizeof(MessageHeader);
  const std::size_t payload = std::min(came, landing.bytes);
  request.moved = std::min(payload, request.first);
  if (request.header.bytes == landing.bytes) {
    if (landing.data != nullptr) landing.landed = payload;
  } else {
    // It is not what its reader expects, and lies where any message would; what is behind it, too.
    const std::size_t excess = payload - request.moved;
    if (excess + (came - payload) > kStagingBytes - sizeof(MessageHeader))
      throwUnexpected(request.header, request.header.tag, landing.bytes);
    if (to != request.data && request.moved > 0) std::memcpy(request.data, to, request.moved);
    std::memmove(behind + excess, behind, came - payload);
    if (excess > 0) std::memcpy(behind, to + request.moved, excess);
    stagedEnd_ += excess;
  }
  stagedEnd_ += came - payload;
  return true;
}

// Takes the header of the next message. False if not all of it is there.
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

// Brings the first part to where it belongs; whether it is complete.
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

void SocketReceiver::progress(const NetRequest* landingOf, Landing* landing) {
  while (failure_ == 0) {
    Request* const request = current();
    if (request == nullptr) break;
    if (request == landingOf && comesWhole(*request, *landing)) {
      if (!receiveWhole(*request, *landing)) break;
    } else if (!request->begun && !begin(*request)) {
      break;
    }
    const bool lands = request == landingOf && landing->data != nullptr && request->first == landing->bytes &&
                       request->header.bytes == landing->bytes && request->moved == landing->landed;
    const bool complete = fill(*request, lands ? landing->data : request->data);
    if (lands) landing->landed = request->moved;
    if (!complete) break;
    ++worked_;
    // Whoever waits for this one gets it before anything else is read.
    if (request == landingOf || staged() == 0) break;
  }
  parts_.move();
}

}  // namespace xylem
