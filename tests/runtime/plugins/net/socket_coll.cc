#include "socket_coll.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "faults.h"

namespace test_net {
namespace {

constexpr int kConnectMilliseconds = 20'000;
constexpr std::size_t kCallBytes = sizeof(CollCall);
constexpr int kSum = 0, kProd = 1, kMax = 2;

std::atomic<long> reduced{0};

std::size_t bytesOf(int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 0, 4, 8};
  return type >= 0 && type < static_cast<int>(std::size(kBytes)) ? kBytes[type] : 0;
}

template <typename T>
void combineAs(std::byte* out, const std::byte* in, std::size_t count, int op) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, out + i * sizeof(T), sizeof(T));
    std::memcpy(&b, in + i * sizeof(T), sizeof(T));
    const T result = static_cast<T>(op == kSum    ? a + b
                                    : op == kProd ? a * b
                                    : op == kMax  ? std::max(a, b)
                                                  : std::min(a, b));
    std::memcpy(out + i * sizeof(T), &result, sizeof(T));
  }
}

void combine(std::byte* out, const std::byte* in, std::size_t count, const CollCall& call) {
  using Combine = void (*)(std::byte*, const std::byte*, std::size_t, int);
  constexpr Combine kCombine[] = {combineAs<std::int8_t>,
                                  combineAs<std::uint8_t>,
                                  combineAs<std::int32_t>,
                                  combineAs<std::uint32_t>,
                                  combineAs<std::int64_t>,
                                  combineAs<std::uint64_t>,
                                  nullptr,
                                  combineAs<float>,
                                  combineAs<double>};
  kCombine[call.type](out, in, count, call.op);
}

// The bytes of one member's part, or of all in a reduction.
std::size_t bytesOf(const CollCall& call) { return call.count * bytesOf(call.type); }

std::size_t total(const std::vector<CollPiece>& pieces) {
  std::size_t bytes = 0;
  for (const CollPiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

}  // namespace

bool collReduces(int type, int op) {
  return bytesOf(type) > 0 && op >= 0 && op <= 3 && op != fault("TEST_COLL_NOT", -1);
}

std::size_t collBytes(int type) { return bytesOf(type); }

long collReduced() { return reduced; }

CollComm::CollComm(int self, std::size_t members, const std::vector<int>& sockets)
    : self_(self), members_(members) {
  for (const int socket : sockets) streams_.emplace_back().socket = socket;
  noteMade(1);
}

CollComm::~CollComm() {
  noteMade(-1 - static_cast<int>(memories_.size()));
  for (const CollStream& stream : streams_) close(stream.socket);
}

int CollComm::registerMemory(void* data, std::size_t bytes, int kind, void** memory) {
  if (kind != 1 || data == nullptr || bytes == 0) return kInternal;
  memories_.push_back({static_cast<std::byte*>(data), bytes});
  noteMade(1);
  *memory = &memories_.back();
  return kSuccess;
}

int CollComm::deregisterMemory(void* memory) {
  const auto before = memories_.size();
  memories_.remove_if([&](const Memory& m) { return &m == memory; });
  if (memories_.size() == before) return kInternal;
  noteMade(-1);
  return kSuccess;
}

bool CollComm::knows(const std::byte* data, std::size_t bytes, const void* memory) const {
  return std::any_of(memories_.begin(), memories_.end(), [&](const Memory& m) {
    return &m == memory && data >= m.data && data + bytes <= m.data + m.bytes;
  });
}

std::size_t CollComm::bytesIn(const CollCall& call) const {
  return bytesOf(call) * (call.kind == CollKind::kScatter ? members_ : 1);
}
std::size_t CollComm::bytesOut(const CollCall& call) const {
  return bytesOf(call) * (call.kind == CollKind::kGather ? members_ : 1);
}

int CollComm::begin(const CollRequest& wanted, void** request) {
  const bool reduces = wanted.call.kind != CollKind::kGather;
  if ((reduces && !collReduces(wanted.call.type, wanted.call.op)) || wanted.call.count == 0) return kUsage;
  if (total(wanted.in) != bytesIn(wanted.call) || total(wanted.out) != bytesOut(wanted.call))
    return kInternal;
  for (const auto& pieces : {wanted.in, wanted.out})
    for (const CollPiece& piece : pieces)
      if (!knows(piece.data, piece.bytes, piece.memory)) return kInternal;
  if (failure_ != kSuccess) return failure_;
  if (requests_.size() >= kRequests || refused_++ < fault("TEST_COLL_BUSY")) return kSuccess;
  refused_ = 0;
  if (++calls_ == fault("TEST_COLL_BREAK_AFTER", -1)) {
    for (const CollStream& stream : streams_) shutdown(stream.socket, SHUT_RDWR);
    return failure_ = static_cast<int>(fault("TEST_COLL_BREAK", kRemote));
  }
  requests_.push_back(wanted);
  CollRequest& made = requests_.back();
  made.comm = this;
  for (const CollPiece& piece : made.in)
    made.input.insert(made.input.end(), piece.data, piece.data + piece.bytes);
  made.looks = fault("TEST_COLL_SLOW");
  pending_.push_back(&made);
  *request = &made;
  progress();
  return kSuccess;
}

int CollComm::test(CollRequest& request, int* done, int* size) {
  *done = 0;
  progress();
  if (!request.through) return failure_;
  if (request.looks-- > 0) return kSuccess;
  if (size != nullptr) *size = static_cast<int>(bytesOut(request.call));
  *done = 1;
  ++reduced;
  requests_.remove_if([&](const CollRequest& r) { return &r == &request; });
  return kSuccess;
}

void CollComm::progress() {
  while (failure_ == kSuccess && !pending_.empty()) {
    CollRequest& request = *pending_.front();
    if (!(self_ == 0 ? reduceAll(request) : exchange(request))) return;
    request.through = true;
    pending_.pop_front();
    combined_ = false;
    for (CollStream& stream : streams_) stream.sent = stream.received = 0;
  }
}

static void deliver(const CollRequest& request, const std::byte* from) {
  for (const CollPiece& piece : request.out) {
    std::memcpy(piece.data, from, piece.bytes);
    from += piece.bytes;
  }
}

// At member 0.
bool CollComm::reduceAll(CollRequest& request) {
  const CollCall& call = request.call;
  const std::size_t in = bytesIn(call), out = bytesOut(call);
  if (!combined_) {
    bool all = true;
    for (CollStream& stream : streams_) all = receive(stream, call, in) && all;
    if (!all) return false;
    result_ = request.input;
    for (CollStream& stream : streams_)
      if (call.kind == CollKind::kGather)
        result_.insert(result_.end(), stream.elements.begin(), stream.elements.end());
      else
        combine(result_.data(), stream.elements.data(), in / bytesOf(call.type), call);
    combined_ = true;
  }
  // Each member gets all of the result, or its own part of it.
  const std::size_t stride = call.kind == CollKind::kScatter ? out : 0;
  bool all = true;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    all = send(streams_[i], call, result_.data() + (i + 1) * stride, out) && all;
  if (all) deliver(request, result_.data());
  return all;
}

// At the other members.
bool CollComm::exchange(CollRequest& request) {
  CollStream& stream = streams_.front();
  const CollCall& call = request.call;
  if (!send(stream, call, request.input.data(), bytesIn(call)) || !receive(stream, call, bytesOut(call)))
    return false;
  deliver(request, stream.elements.data());
  return true;
}

bool CollComm::moved(ssize_t bytes, std::size_t& so) {
  if (bytes > 0) so += static_cast<std::size_t>(bytes);
  if (bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR))) return bytes > 0;
  failure_ = bytes == 0 ? kRemote : kSystem;
  return false;
}

bool CollComm::send(CollStream& stream, const CollCall& call, const std::byte* elements, std::size_t length) {
  const std::size_t total = kCallBytes + length;
  while (stream.sent < total) {
    const bool inCall = stream.sent < kCallBytes;
    const std::byte* from = inCall ? reinterpret_cast<const std::byte*>(&call) + stream.sent
                                   : elements + (stream.sent - kCallBytes);
    const std::size_t bytes = (inCall ? kCallBytes : total) - stream.sent;
    if (!moved(::send(stream.socket, from, bytes, MSG_NOSIGNAL), stream.sent)) return false;
  }
  return true;
}

bool CollComm::receive(CollStream& stream, const CollCall& call, std::size_t length) {
  const std::size_t total = kCallBytes + length;
  while (stream.received < total) {
    const bool inCall = stream.received < kCallBytes;
    if (!inCall && stream.heard != call) {
      failure_ = kUsage;
      return false;
    }
    stream.elements.resize(length);
    std::byte* to = inCall ? reinterpret_cast<std::byte*>(&stream.heard) + stream.received
                           : stream.elements.data() + (stream.received - kCallBytes);
    const std::size_t bytes = (inCall ? kCallBytes : total) - stream.received;
    if (!moved(recv(stream.socket, to, bytes, 0), stream.received)) return false;
  }
  return true;
}

namespace {

// A call's parameters and its elements are sends of their own, which must not wait for each other.
void sendAtOnce(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool waitFor(int socket, short events) {
  pollfd ready{socket, events, 0};
  return poll(&ready, 1, kConnectMilliseconds) > 0;
}

// Each member sends its number.
int acceptAll(Listener& listener, std::size_t members, std::vector<int>& sockets) {
  sockets.assign(members - 1, -1);
  for (std::size_t i = 1; i < members; ++i) {
    if (!waitFor(listener.socket, POLLIN)) return kRemote;
    const int socket = accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    std::int32_t self = 0;
    if (socket < 0 || !waitFor(socket, POLLIN) || recv(socket, &self, sizeof self, 0) != sizeof self)
      return kRemote;
    if (self < 1 || static_cast<std::size_t>(self) >= members) return kInternal;
    sockets[static_cast<std::size_t>(self) - 1] = socket;
    sendAtOnce(socket);
  }
  return kSuccess;
}

int callFirst(const Handle& handle, std::int32_t self, std::vector<int>& sockets) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockets.push_back(socket);
  sendAtOnce(socket);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&handle.address), sizeof handle.address) != 0 &&
      errno != EINPROGRESS)
    return kSystem;
  return waitFor(socket, POLLOUT) && send(socket, &self, sizeof self, MSG_NOSIGNAL) == sizeof self ? kSuccess
                                                                                                   : kRemote;
}

}  // namespace

int collConnect(const std::vector<Handle>& handles, int self, Listener& listener, CollComm** comm) {
  if (fault("TEST_COLL_CONNECT") != kSuccess) return static_cast<int>(fault("TEST_COLL_CONNECT"));
  while (fault("TEST_COLL_HANG", -1) == self) pause();
  std::vector<int> sockets;
  const auto at = static_cast<std::size_t>(self);
  const int result = at >= handles.size() ? kInternal
                     : self == 0          ? acceptAll(listener, handles.size(), sockets)
                                          : callFirst(handles.front(), self, sockets);
  if (result == kSuccess)
    *comm = new CollComm(self, handles.size(), sockets);
  else
    for (const int socket : sockets)
      if (socket >= 0) close(socket);
  return result;
}

}  // namespace test_net
