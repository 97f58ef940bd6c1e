#pragma once
// A rank with all that the network transport needs, on an interface that the test names.
//
//   NetRank a(0, {}), b(1, {});
//   connectPair(a, b, {0}, {0});                          // both ends, in two threads
//   a.connection->sender(0).send(Protocol::kSimple, data, bytes);

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/transport/net/net_transport.h"
#include "runtime/transport/net/proxy.h"
#include "runtime/transport/net/socket/socket_network.h"
#include "support/patience.h"

namespace xylem::transport {

struct NetSetup {
  std::string address = "127.0.0.1";
  SocketChoice sockets{0, 1};
  int bufferBytes = 0;
  std::chrono::seconds silence{20};
  std::size_t queueBytes = 1 << 20;
  sockets::Secret secret{};
  // Sessions over local sockets, where the ranks are of one host; otherwise over TCP.
  bool local = false;
  std::uint64_t host = 0;  // Peer::hostHash
  // Makes another network than sockets; null: sockets.
  std::function<std::unique_ptr<Network>()> network;
};

inline std::unique_ptr<Network> networkOf(const NetSetup& setup, const sockets::SocketAddress& address,
                                          const Logger& log) {
  if (setup.network) return setup.network();
  return std::make_unique<SocketNetwork>(
      SocketOptions{{{"test0", address}}, setup.sockets, setup.silence, setup.bufferBytes}, setup.secret,
      log);
}

struct NetRank {
  NetRank(int rank, const NetSetup& setup)
      : address(sockets::SocketAddress::parse(
            (setup.address.find(':') == std::string::npos ? setup.address : "[" + setup.address + "]") +
            ":0")),
        network(networkOf(setup, address, log)),
        sessions(std::make_shared<PeerSessions>(SessionOptions{.rank = rank,
                                                               .secret = setup.secret,
                                                               .local = setup.local,
                                                               .address = address,
                                                               .silence = setup.silence},
                                                log)),
        ranks({stepBytesFor(setup.queueBytes), network.get(), &proxy, nullptr}),
        transport(sessions,
                  {.stepBytes = stepBytesFor(setup.queueBytes), .silence = setup.silence, .proxies = &ranks},
                  *network, proxy) {
    self.rank = rank;
    self.hostHash = setup.host;
    transport.announce(self);
  }

  void connect(const Peer& peer, std::vector<QueueNic> sends, std::vector<QueueNic> receives,
               int seconds = 20, std::uint32_t purpose = 0) {
    connection =
        transport.open({.peer = peer.rank, .purpose = purpose, .sends = sends, .receives = receives}, peer);
    Connection* one = connection.get();
    connectAll({&one, 1}, {Deadline::after(std::chrono::seconds(seconds)), {}});
  }

  Settings settings;
  Logger log{settings};
  sockets::SocketAddress address;
  std::unique_ptr<Network> network;
  Proxy proxy;
  std::shared_ptr<PeerSessions> sessions;
  ProxyRanks ranks;  // this rank sends itself unless a test opens some
  NetTransport transport;
  Peer self;
  std::unique_ptr<Connection> connection;
};

// Lets two ranks of a host send through each other.
inline void makeProxies(NetRank& a, NetRank& b) {
  Connection* const ends[] = {&a.ranks.open(b.self, *a.sessions), &b.ranks.open(a.self, *b.sessions)};
  a.ranks.serve();
  b.ranks.serve();
  ASSERT_TRUE(testing::soon([&] {
    const bool there = ends[0]->advance(), back = ends[1]->advance();
    return there && back;
  }));
}

// `sends` and `receives` are those of `a`.
inline void connectPair(NetRank& a, NetRank& b, const std::vector<QueueNic>& sends,
                        const std::vector<QueueNic>& receives) {
  std::thread other([&] { b.connect(a.self, receives, sends); });
  a.connect(b.self, sends, receives);
  other.join();
}

// Rank 1 in a process of its own, forked before this one has threads. `body` runs there once the two ranks
// have each other's Peer, and its result is the process's exit status.
class RankOneInProcess {
 public:
  RankOneInProcess(const NetSetup& setup, const std::function<int(NetRank&, const Peer& zero)>& body) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    socket_ = FileDescriptor(ends[0]);
    const FileDescriptor theirs(ends[1]);
    process_ = fork();
    if (process_ != 0) return;
    int status = 1;
    try {
      NetRank self(1, setup);
      Peer zero;
      if (send(theirs.get(), &self.self, sizeof self.self, MSG_NOSIGNAL) > 0 &&
          recv(theirs.get(), &zero, sizeof zero, MSG_WAITALL) == sizeof zero)
        status = body(self, zero);
    } catch (...) {
    }
    _exit(status);
  }
  pid_t process() const { return process_; }
  // Exchanges the Peers of rank 0, which is in this process, and rank 1. Returns that of rank 1.
  Peer meet(const NetRank& zero) const {
    Peer one;
    EXPECT_GT(send(socket_.get(), &zero.self, sizeof zero.self, MSG_NOSIGNAL), 0);
    EXPECT_EQ(recv(socket_.get(), &one, sizeof one, MSG_WAITALL), static_cast<ssize_t>(sizeof one));
    return one;
  }
  int wait() const {
    int status = -1;
    waitpid(process_, &status, 0);
    return status;
  }

 private:
  FileDescriptor socket_;
  pid_t process_ = -1;
};

using testing::soon;

}  // namespace xylem::transport
