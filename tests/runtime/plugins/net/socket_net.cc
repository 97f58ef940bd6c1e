#include "socket_net.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <set>

#include "faults.h"

namespace test_net {
namespace {

constexpr int kBufferBytes = 64 << 10;

std::atomic<int> alive{0};

// Its buffers are small, so that a test has soon sent as much as fits.
int nonBlockingSocket() {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  for (const int buffer : {SO_SNDBUF, SO_RCVBUF})
    setsockopt(made, SOL_SOCKET, buffer, &kBufferBytes, sizeof kBufferBytes);
  return made;
}

}  // namespace

int living() { return alive; }
void noteMade(int objects) { alive += objects; }

namespace {

// Also those that were dropped, so that no new one has the address of one of them.
struct Contexts {
  std::mutex mutex;
  std::list<Context> made;
  std::set<void*> live;
};
Contexts& allContexts() {
  static Contexts all;
  return all;
}

}  // namespace

Context* makeContext(const Context& of) {
  Contexts& all = allContexts();
  const std::lock_guard lock(all.mutex);
  Context* const made = &all.made.emplace_back(of);
  all.live.insert(made);
  return made;
}
int dropContext(void* context) {
  Contexts& all = allContexts();
  const std::lock_guard lock(all.mutex);
  return all.live.erase(context) == 1 ? kSuccess : kInternal;
}
bool isContext(void* context) {
  Contexts& all = allContexts();
  const std::lock_guard lock(all.mutex);
  return all.live.contains(context);
}
int contexts() {
  Contexts& all = allContexts();
  const std::lock_guard lock(all.mutex);
  return static_cast<int>(all.live.size());
}

std::atomic<long>& countOf(Event event) {
  static std::array<std::atomic<long>, 3> counts{};
  return counts[static_cast<std::size_t>(event)];
}

Comm::Comm(int socket) : socket_(socket) { ++alive; }

Comm::~Comm() {
  alive -= 1 + static_cast<int>(memories_.size());
  close(socket_);
}

int Comm::registerMemory(void* data, std::size_t bytes, int kind, void** memory) {
  if (kind != kHostMemory && (kind != kGpuMemory || (fault("TEST_NET_POINTERS", 1) & 2) == 0))
    return kInternal;
  if (kind == kGpuMemory) ++countOf(Event::kGpuMemory);
  return add(data, bytes, kind, memory);
}

int Comm::registerDmaBuf(void* data, std::size_t bytes, int file, void** memory) {
  struct stat status {};
  if ((fault("TEST_NET_POINTERS", 1) & 4) == 0 || fstat(file, &status) != 0) return kInternal;
  if (status.st_size < static_cast<off_t>(bytes)) return kInternal;
  ++countOf(Event::kDmaBuf);
  return add(data, bytes, kGpuMemory, memory);
}

int Comm::add(void* data, std::size_t bytes, int kind, void** memory) {
  if (data == nullptr || bytes == 0) return kInternal;
  memories_.push_back({static_cast<std::byte*>(data), bytes, kind});
  if (kind == kGpuMemory && copier_ == nullptr && copiesByDriver())
    copier_ = std::make_unique<GpuCopier>(static_cast<std::byte*>(data));
  ++alive;
  *memory = fault("TEST_NET_NO_HANDLES") != 0 ? nullptr : &memories_.back();
  return kSuccess;
}

int Comm::deregisterMemory(void* memory) {
  const auto found = std::find_if(memories_.begin(), memories_.end(),
                                  [&](const Memory& m) { return memory == nullptr || memory == &m; });
  if (found == memories_.end()) return kInternal;
  memories_.erase(found);
  --alive;
  return kSuccess;
}

// The registered memory in which the part lies; null: none.
const Memory* Comm::find(const Part& part, const void* memory) const {
  const auto found = std::find_if(memories_.begin(), memories_.end(), [&](const Memory& m) {
    return (memory == nullptr || memory == &m) && part.data >= m.data &&
           part.data + part.bytes <= m.data + m.bytes;
  });
  return found == memories_.end() ? nullptr : &*found;
}

bool Comm::busy() {
  if (requests_.size() >= kRequests) return true;
  if (refused_++ < fault("TEST_NET_BUSY")) return true;
  refused_ = 0;
  return false;
}

int Comm::take(std::vector<Part> parts, void** request) {
  requests_.push_back({std::move(parts), 0, fault("TEST_NET_SLOW"), this});
  Request& made = requests_.back();
  made.left = made.parts.size();
  pending_.push_back(&made);
  progress();
  *request = &made;
  return kSuccess;
}

int Comm::isend(const Part& part, void* memory, void** request) {
  sends_ = true;
  const Memory* const found = find(part, memory);
  if (part.tag < 0 || found == nullptr) return kInternal;
  if (failure_ != kSuccess) return failure_;
  if (busy()) return kSuccess;
  if (++sent_ == fault("TEST_NET_BREAK_AFTER", -1)) {
    shutdown(socket_, SHUT_RDWR);
    return failure_ = kRemote;
  }
  Part taken = part;
  if (found->kind == kGpuMemory && copier_ != nullptr) {
    taken.staged = true;
    taken.copy.resize(part.bytes);
    if (!copier_->out(taken.copy.data(), part.data, part.bytes)) return failure_ = kSystem;
  }
  return take({std::move(taken)}, request);
}

int Comm::irecv(std::span<const Part> parts, void** memories, void** request) {
  if (parts.empty() || parts.size() > kMostReceives) return kInternal;
  std::vector<Part> taken(parts.begin(), parts.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Memory* const memory = find(parts[i], memories[i]);
    if (memory == nullptr) return kInternal;
    taken[i].held = memory->kind == kGpuMemory && fault("TEST_NET_HOLDS") != 0;
    taken[i].staged = memory->kind == kGpuMemory && !taken[i].held && copier_ != nullptr;
  }
  if (failure_ != kSuccess) return failure_;
  if (busy()) return kSuccess;
  return take(std::move(taken), request);
}

int Comm::iflush(std::span<const Part> parts, void** memories, void** request) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Memory* const memory = find(parts[i], memories[i]);
    if (memory == nullptr || memory->kind != kGpuMemory || parts[i].bytes == 0) return kInternal;
    const auto held = held_.find(parts[i].data);
    if (held == held_.end()) continue;
    if (held->second.size() != parts[i].bytes) return kInternal;
    if (copier_ == nullptr)
      std::copy(held->second.begin(), held->second.end(), parts[i].data);
    else if (!copier_->in(parts[i].data, held->second.data(), parts[i].bytes))
      return failure_ = kSystem;
    held_.erase(held);
  }
  ++countOf(Event::kFlush);
  requests_.push_back({{}, 0, fault("TEST_NET_SLOW"), this});
  *request = &requests_.back();
  return kSuccess;
}

int Comm::test(Request& request, int* done, int* sizes) {
  *done = 0;
  progress();
  if (request.left > 0) return failure_;
  if (request.looks-- > 0) return kSuccess;
  if (sizes != nullptr)
    for (std::size_t i = 0; i < request.parts.size(); ++i)
      sizes[i] = static_cast<int>(request.parts[i].bytes);
  *done = 1;
  requests_.remove_if([&](const Request& r) { return &r == &request; });
  return kSuccess;
}

void Comm::progress() {
  while (failure_ == kSuccess && !pending_.empty() && (sends_ ? moveSend() : moveReceive())) {
    if (current_->staged && !sends_ && !copier_->in(current_->data, current_->copy.data(), current_->bytes))
      failure_ = kSystem;
    current_->through = true;
    current_ = nullptr;
    moved_ = 0;
    if (--pending_.front()->left == 0) pending_.pop_front();
  }
}

bool Comm::moveSend() {
  current_ = &pending_.front()->parts.front();
  header_ = {current_->bytes, current_->tag};
  return move(current_->staged ? current_->copy.data() : current_->data, true);
}

// A message goes into the buffer of the oldest receive that has its tag.
bool Comm::moveReceive() {
  if (moved_ < sizeof header_ && !move(nullptr, false) && moved_ < sizeof header_) return false;
  if (current_ == nullptr) {
    for (Part& part : pending_.front()->parts)
      if (current_ == nullptr && !part.through && part.tag == header_.tag) current_ = &part;
    if (current_ == nullptr || header_.bytes > current_->bytes) {
      failure_ = kUsage;
      return false;
    }
    current_->bytes = header_.bytes;
    if (current_->held) held_[current_->data].resize(header_.bytes);
    if (current_->staged) current_->copy.resize(header_.bytes);
  }
  return move(current_->held     ? held_[current_->data].data()
              : current_->staged ? current_->copy.data()
                                 : current_->data,
              false);
}

bool Comm::move(std::byte* payload, bool sends) {
  for (;;) {
    const bool inHeader = moved_ < sizeof header_;
    const std::size_t total = sizeof header_ + (payload == nullptr ? 0 : header_.bytes);
    if (moved_ == total) return true;
    std::byte* const at =
        inHeader ? reinterpret_cast<std::byte*>(&header_) + moved_ : payload + (moved_ - sizeof header_);
    std::size_t bytes = inHeader ? sizeof header_ - moved_ : total - moved_;
    const auto part = static_cast<std::size_t>(fault("TEST_NET_PART"));
    if (part > 0) bytes = std::min(bytes, part);
    const ssize_t n = sends ? send(socket_, at, bytes, MSG_NOSIGNAL) : recv(socket_, at, bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
      failure_ = n == 0 ? kRemote : kSystem;
      return false;
    }
    moved_ += static_cast<std::size_t>(n);
    if (part > 0) return moved_ == sizeof header_ + header_.bytes && payload != nullptr;
  }
}

Listener::Listener() : socket(nonBlockingSocket()), late(fault("TEST_NET_LATE")) {
  ++alive;
  const char* where = std::getenv("TEST_NET_ADDRESS");
  address.sin_family = AF_INET;
  inet_pton(AF_INET, where == nullptr ? "127.0.0.1" : where, &address.sin_addr);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(socket, generic, size) != 0 || ::listen(socket, 16) != 0 ||
      getsockname(socket, generic, &size) != 0) {
    close(socket);
    socket = -1;
  }
}

Listener::~Listener() {
  --alive;
  if (socket >= 0) close(socket);
}

int accept(Listener& listener, Comm** comm) {
  *comm = nullptr;
  if (listener.late-- > 0) return kSuccess;
  const int socket = ::accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket >= 0) *comm = new Comm(socket);
  return socket >= 0 || errno == EAGAIN ? kSuccess : kSystem;
}

struct Connector {
  Handle* home;  // the handle's memory must stay the same between calls
  int socket;
  long late;
};

int connect(Handle& handle, Comm** comm) {
  *comm = nullptr;
  if (handle.caller == nullptr) {
    const int socket = nonBlockingSocket();
    ++alive;
    handle.caller = new Connector{&handle, socket, fault("TEST_NET_LATE")};
    if (::connect(socket, reinterpret_cast<sockaddr*>(&handle.address), sizeof handle.address) != 0 &&
        errno != EINPROGRESS)
      return kSystem;
    return kSuccess;
  }
  Connector& caller = *handle.caller;
  if (caller.home != &handle) return kInternal;
  if (caller.late-- > 0) return kSuccess;
  pollfd ready{caller.socket, POLLOUT, 0};
  if (poll(&ready, 1, 0) <= 0) return kSuccess;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(caller.socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) *comm = new Comm(caller.socket);
  delete handle.caller;
  handle.caller = nullptr;
  --alive;
  return error == 0 ? kSuccess : kSystem;
}

}  // namespace test_net
