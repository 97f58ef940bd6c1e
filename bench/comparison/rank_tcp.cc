// The limit between hosts: two ranks that only send each other the least data of an operation, through one
// TCP connection. They poll the connection, or sleep until there is data: for large messages polling costs
// more than it brings. The congestion control is the one that Xylem's sockets choose. Only bench_compare runs
// it.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "comparison/exchange.h"
#include "comparison/rank_loop.h"
#include "comparison/rank_options.h"
#include "runtime/sockets/congestion.h"

namespace xylem::bench {
namespace {

struct Options : RankOptions {
  int rank = 0;
  std::string address;  // of rank 0
  bool sleeps = false;
};

class TcpEngine : public Engine {
 public:
  explicit TcpEngine(const Options& options) : options_(options) {
    address_.sin_family = AF_INET;
    if (inet_pton(AF_INET, options.address.c_str(), &address_.sin_addr) != 1)
      throw Error(ResultCode::kInvalidArgument, "{} is no IPv4 address", options.address);
  }
  int rank() const override { return options_.rank; }
  int ranks() const override { return 2; }

  // The port at which rank 0 listens.
  std::array<char, kIdBytes> newId() override {
    listening_ = newSocket();
    congestion_.prepare(listening_.get());
    socklen_t size = sizeof address_;
    if (bind(listening_.get(), reinterpret_cast<sockaddr*>(&address_), size) != 0 ||
        listen(listening_.get(), 1) != 0 ||
        getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address_), &size) != 0)
      throw Error(ResultCode::kSystemError, "cannot listen at {}: {}", options_.address, errnoText(errno));
    std::array<char, kIdBytes> id{};
    std::memcpy(id.data(), &address_.sin_port, sizeof address_.sin_port);
    return id;
  }

  void join(const std::array<char, kIdBytes>& id) override {
    std::memcpy(&address_.sin_port, id.data(), sizeof address_.sin_port);
    if (rank() == 0) {
      peer_ = FileDescriptor(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    } else {
      peer_ = newSocket();
      congestion_.prepare(peer_.get());
      if (connect(peer_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_) != 0) peer_.reset();
    }
    if (!peer_)
      throw Error(ResultCode::kSystemError, "cannot connect to {}: {}", options_.address, errnoText(errno));
    const int on = 1;
    setsockopt(peer_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pinTo(options_.coresOf(rank()));
  }

  void barrier() override {
    char out = 0, in = 0;
    exchange(&out, 1, &in, 1);
  }

  void repeat(const Case& c, const float* in, float* out, std::uint32_t times, bool) override {
    const Exchange e = exchangeOf(c);
    const Run& mine = e.from[static_cast<std::size_t>(rank())];
    const Run& theirs = e.from[static_cast<std::size_t>(1 - rank())];
    for (std::uint32_t i = 0; i < times; ++i)
      exchange(in + mine.start, mine.count * sizeof(float), out, theirs.count * sizeof(float));
  }

 private:
  static FileDescriptor newSocket() {
    FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) throw Error(ResultCode::kSystemError, "cannot open a socket: {}", errnoText(errno));
    return fd;
  }

  // Sends and receives at the same time.
  void exchange(const void* from, std::size_t toSend, void* to, std::size_t toReceive) {
    const char* out = static_cast<const char*>(from);
    char* in = static_cast<char*>(to);
    while (toSend > 0 || toReceive > 0) {
      if (options_.sleeps) sleepUntilReady(toSend > 0, toReceive > 0);
      if (toSend > 0) {
        const std::size_t moved = progressed(send(peer_.get(), out, toSend, MSG_DONTWAIT | MSG_NOSIGNAL));
        out += moved;
        toSend -= moved;
      }
      if (toReceive > 0) {
        const ssize_t got = recv(peer_.get(), in, toReceive, MSG_DONTWAIT);
        if (got == 0) throw Error(ResultCode::kRemoteError, "the other rank is gone");
        const std::size_t moved = progressed(got);
        in += moved;
        toReceive -= moved;
      }
    }
  }

  void sleepUntilReady(bool toSend, bool toReceive) const {
    pollfd ready{peer_.get(), static_cast<short>((toSend ? POLLOUT : 0) | (toReceive ? POLLIN : 0)), 0};
    constexpr int kForever = -1;  // the driver ends ranks that hang
    poll(&ready, 1, kForever);
  }

  static std::size_t progressed(ssize_t result) {
    if (result >= 0) return static_cast<std::size_t>(result);
    if (errno == EAGAIN || errno == EINTR) return 0;
    throw Error(ResultCode::kRemoteError, "the connection failed: {}", errnoText(errno));
  }

  const Options& options_;
  const sockets::Congestion congestion_{"auto"};
  sockaddr_in address_{};
  FileDescriptor listening_, peer_;
};

int run(int argc, char** argv) {
  Options options;
  RankArguments arguments("a rank of bench_compare's limit of TCP", options);
  arguments.add("--rank", options.rank, "0 or 1");
  arguments.add("--address", options.address, "IPv4 of rank 0");
  arguments.add("--sleep", options.sleeps, "until there is something to send or to receive");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  TcpEngine engine(options);
  serve(engine, ControlSocket::connect(options.socket));
  return 0;
}

}  // namespace
}  // namespace xylem::bench

int main(int argc, char** argv) {
  xylem::bench::endWithParent();
  try {
    return xylem::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a rank of TCP: %s\n", error.what());
    return 1;
  }
}
