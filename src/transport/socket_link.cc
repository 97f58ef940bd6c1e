#include "transport/socket_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wire/socket.h"

namespace xylem {
namespace {

std::vector<FileDescriptor> allButFirst(std::vector<FileDescriptor>& sockets) {
  std::vector<FileDescriptor> others;
  for (std::size_t i = 1; i < sockets.size(); ++i) others.push_back(std::move(sockets[i]));
  return others;
}

// Payloads up to this are copied behind their header.
constexpr std::size_t kCopied = 512;
// At a time.
constexpr std::size_t kDiscarded = std::size_t{16} << 10;

bool unreachable(int error) { return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH; }

}  // namespace

SocketLink::SocketLink(SocketParts::Direction direction, std::vector<FileDescriptor> sockets, int helpers,
                       std::uint32_t key)
    : socket_(std::move(sockets.front())), parts_(direction, allButFirst(sockets), helpers), key_(key) {}

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
  const std::string remote = remoteText(socket_.get());
  if (error < 0) throw LinkBroken(false, fmt::format("{} closed a connection that carries data", remote));
  throw LinkBroken(unreachable(error),
                   fmt::format("the connection to {} broke: {}", remote, errnoText(error)));
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

// Reads the rest of a payload and, behind it, up to `ahead` bytes of what comes next. False if there was
// nothing.
bool SocketReceiver::receiveInto(std::byte* rest, std::size_t bytes, std::size_t ahead, std::size_t& got) {
  if (staged() == 0) stagedBegin_ = stagedEnd_ = 0;
  std::byte* behind = staging_.data() + stagedEnd_;
  const std::size_t room = std::min(ahead, kStagingBytes - stagedEnd_);
  ssize_t n;
  if (bytes == 0) {
    n = recv(socket_.get(), behind, room, MSG_DONTWAIT);
  } else {
    iovec pieces[2] = {{rest, bytes}, {behind, room}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    n = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    drained_ = true;
    return false;
  }
  if (n <= 0) {
    failure_ = n < 0 ? errno : -1;
    return false;
  }
  const auto read = static_cast<std::size_t>(n);
  drained_ = read < bytes + room;
  got = std::min(read, bytes);
  stagedEnd_ += read - got;
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
                remoteText(socket_.get()));
  if (header.bytes > request.capacity || header.tag != request.header.tag)
    throw Error(
        ResultCode::kInvalidUsage,
        "a message of {} bytes with tag {} arrived where at most {} bytes with tag {} are expected: do all "
        "ranks call the same operations with the same settings?",
        header.bytes, header.tag, request.capacity, request.header.tag);
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
  // Behind a large message comes another one, whose payload had better not be copied once more.
  const std::size_t ahead = request.first > kStagingBytes ? sizeof(MessageHeader) : kStagingBytes;
  while (request.moved < request.first) {
    std::size_t got = 0;
    if (!receiveInto(to + request.moved, request.first - request.moved, ahead, got)) return false;
    request.moved += got;
  }
  return true;
}

void SocketReceiver::progress(const NetRequest* landingOf, Landing* landing) {
  while (failure_ == 0) {
    Request* const request = current();
    if (request == nullptr || (!request->begun && !begin(*request))) break;
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
