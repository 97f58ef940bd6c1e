#include "runtime/transport/net/socket/socket_parts.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <mutex>
#include <thread>

#include "core/error.h"

namespace xylem::transport {
namespace {

struct Part {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::atomic<int>* left = nullptr;
};

// One socket and a ring of its parts, oldest first.
class PartsOfSocket {
 public:
  PartsOfSocket(SocketParts::Direction direction, FileDescriptor socket)
      : direction_(direction), socket_(std::move(socket)) {}

  void add(const Part& part) { parts_[added_++ % SocketParts::kMaxParts] = part; }
  bool busy() const { return done_ < added_; }
  pollfd wanted() const {
    return {socket_.get(), static_cast<short>(direction_ == SocketParts::Direction::kSend ? POLLOUT : POLLIN),
            0};
  }
  // Returns whether bytes moved. Sets `failure` if none ever will again.
  bool move(int& failure) {
    bool moved = false;
    while (busy()) {
      Part& part = parts_[done_ % SocketParts::kMaxParts];
      const ssize_t n = direction_ == SocketParts::Direction::kSend
                            ? send(socket_.get(), part.data, part.bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : recv(socket_.get(), part.data, part.bytes, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (n <= 0) {
        failure = n < 0 ? errno : -1;
        break;
      }
      moved = true;
      part.data += n;
      part.bytes -= static_cast<std::size_t>(n);
      if (part.bytes > 0) continue;
      part.left->fetch_sub(1, std::memory_order_acq_rel);
      ++done_;
    }
    return moved;
  }

 private:
  SocketParts::Direction direction_;
  FileDescriptor socket_;
  Part parts_[SocketParts::kMaxParts];
  std::size_t added_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

// Some of the sockets, with or without a thread of their own. The thread sleeps until parts are added or a
// socket is ready.
class SocketParts::Group {
 public:
  Group(std::atomic<int>& failure, bool threaded) : failure_(failure) {
    if (!threaded) return;
    wake_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_) throw Error(ResultCode::kSystemError, "cannot make an eventfd: {}", errnoText(errno));
  }
  ~Group() {
    if (!thread_.joinable()) return;
    stop_.store(true, std::memory_order_release);
    wake();
    thread_.join();
  }
  void take(Direction direction, FileDescriptor socket) {
    sockets_.emplace_back(direction, std::move(socket));
  }
  // Starts the thread; call it after the last take().
  void start() {
    if (!wake_) return;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "xylem-socket");
  }

  void add(std::size_t socket, const Part& part) {
    if (!wake_) {
      sockets_[socket].add(part);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      fresh_.push_back({socket, part});
    }
    wake();
  }
  bool move() {
    bool moved = false;
    for (PartsOfSocket& socket : sockets_) {
      int failure = 0;
      moved |= socket.move(failure);
      if (failure != 0) failure_.store(failure, std::memory_order_release);
    }
    return moved;
  }
  void addTo(std::vector<pollfd>& fds) const {
    for (const PartsOfSocket& socket : sockets_)
      if (socket.busy()) fds.push_back(socket.wanted());
  }

 private:
  struct Fresh {
    std::size_t socket;
    Part part;
  };

  void wake() const {
    const std::uint64_t one = 1;
    if (write(wake_.get(), &one, sizeof one) < 0) return;  // full: the thread is awake
  }
  void run() {
    std::vector<Fresh> taken;
    std::vector<pollfd> fds;
    while (!stop_.load(std::memory_order_acquire)) {
      {
        const std::lock_guard lock(mutex_);
        taken.swap(fresh_);
      }
      for (const Fresh& fresh : taken) sockets_[fresh.socket].add(fresh.part);
      taken.clear();
      if (failure_.load(std::memory_order_relaxed) == 0 && move()) continue;
      fds.assign(1, {wake_.get(), POLLIN, 0});
      if (failure_.load(std::memory_order_relaxed) == 0) addTo(fds);
      poll(fds.data(), fds.size(), -1);
      std::uint64_t count;
      if (fds[0].revents != 0 && read(wake_.get(), &count, sizeof count) < 0) continue;
    }
  }

  std::atomic<int>& failure_;
  std::vector<PartsOfSocket> sockets_;
  FileDescriptor wake_;  // an eventfd; invalid without a thread
  std::atomic<bool> stop_{false};
  std::mutex mutex_;          // guards fresh_
  std::vector<Fresh> fresh_;  // parts that the thread has not taken over yet
  std::thread thread_;
};

SocketParts::SocketParts(Direction direction, std::vector<FileDescriptor> sockets, int helpers)
    : sockets_(static_cast<int>(sockets.size())), threaded_(helpers > 0) {
  const int groups = std::max(1, std::min(helpers, sockets_));
  for (int i = 0; i < groups; ++i) groups_.push_back(std::make_unique<Group>(failure_, threaded_));
  for (int i = 0; i < sockets_; ++i)
    groupOf(i).take(direction, std::move(sockets[static_cast<std::size_t>(i)]));
  for (const auto& group : groups_) group->start();
}

SocketParts::~SocketParts() = default;

void SocketParts::add(int socket, std::byte* data, std::size_t bytes, std::atomic<int>* left) {
  groupOf(socket).add(static_cast<std::size_t>(socket) / groups_.size(), {data, bytes, left});
}

void SocketParts::move() {
  if (threaded_) return;
  for (const auto& group : groups_) group->move();
}

void SocketParts::addTo(std::vector<pollfd>& fds) const {
  for (const auto& group : groups_) group->addTo(fds);
}

}  // namespace xylem::transport
