// Tests between hosts, which are network namespaces with an interface each: the network transport, the link
// monitor, and the namespaces themselves.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "runtime/sockets/interfaces.h"
#include "runtime/sockets/socket.h"
#include "runtime/transport/net/link_monitor.h"
#include "runtime/transport/net_rank.h"
#include "support/namespaces.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;

// Two ranks on two hosts send each other their addresses through pipes.
class NetHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
    hosts_.emplace(2);
    for (auto& ends : pipes_) {
      int fds[2];
      ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
      ends.read = FileDescriptor(fds[0]);
      ends.write = FileDescriptor(fds[1]);
    }
  }

  using Body = std::function<int(NetRank&, int)>;
  // Starts both ranks. `body` runs once they are connected.
  void start(const NetSetup& setup, bool six, const Body& body) {
    for (int rank = 0; rank < 2; ++rank)
      children_[rank] = hosts_->start(rank, [=, this]() {
        NetSetup own = setup;
        own.address = six ? Namespaces::address6(rank) : Namespaces::address(rank);
        NetRank self(rank, own);
        Peer peer;
        if (write(pipes_[rank].write.get(), &self.self, sizeof self.self) != sizeof self.self) return 10;
        if (read(pipes_[1 - rank].read.get(), &peer, sizeof peer) != sizeof peer) return 11;
        self.connect(peer, {0}, {0});
        return body(self, rank);
      });
  }

  struct Pipe {
    FileDescriptor read, write;
  };
  std::optional<Namespaces> hosts_;
  Pipe pipes_[2];
  pid_t children_[2]{};
};

int exchangeOverHosts(NetRank& self, int rank) {
  const std::size_t step = self.connection->sender(0).stepBytes(Protocol::kSimple);
  std::vector<std::byte> out(step, static_cast<std::byte>(rank + 1)), in(step);
  for (int i = 0; i < 100; ++i) {
    if (!soon([&] { return self.connection->sender(0).send(Protocol::kSimple, out.data(), step); }))
      return 20;
    if (!soon([&] { return self.connection->receiver(0).take(Protocol::kSimple, in.data(), step); }))
      return 21;
    if (in.front() != static_cast<std::byte>(2 - rank) || in.back() != in.front()) return 22;
  }
  self.connection.reset();
  return 0;
}

TEST_F(NetHosts, ExchangeData) {
  start({}, false, exchangeOverHosts);
  EXPECT_EQ(waitFor(children_[0]), 0);
  EXPECT_EQ(waitFor(children_[1]), 0);
}

TEST_F(NetHosts, ExchangeDataOverIpv6AndSeveralSockets) {
  NetSetup setup;
  setup.sockets = {2, 2};
  start(setup, true, exchangeOverHosts);
  EXPECT_EQ(waitFor(children_[0]), 0);
  EXPECT_EQ(waitFor(children_[1]), 0);
}

// Both ranks wait for data that never comes; rank 0 has sent some before. 3 seconds of silence are allowed.
TEST_F(NetHosts, ACutCableIsNoticedInTime) {
  NetSetup setup;
  setup.silence = std::chrono::seconds(3);
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const FileDescriptor readyRead(ready[0]), readyWrite(ready[1]);
  start(setup, false, [&](NetRank& self, int rank) {
    const char byte = 0;
    if (write(readyWrite.get(), &byte, 1) != 1) return 30;
    usleep(300000);  // until the cable is cut
    std::byte data[64]{};
    if (rank == 0) self.connection->sender(0).send(Protocol::kLl, data, sizeof data);
    std::string message;
    const bool noticed = soon(
        [&] {
          usleep(1000);
          try {
            self.connection->receiver(0).peek(Protocol::kLl, 8);
          } catch (const Error& error) {
            message = error.what();
          }
          return !message.empty() || self.connection->news().state == PeerState::kLost;
        },
        std::chrono::seconds(15));
    if (!noticed) return 31;
    const std::string peer = "rank " + std::to_string(1 - rank);
    const bool named =
        message.empty() ? self.connection->peer() == 1 - rank : message.find(peer) != std::string::npos;
    self.connection.reset();
    return named ? 0 : 32;
  });
  for (int i = 0; i < 2; ++i) {
    char byte;
    ASSERT_EQ(read(readyRead.get(), &byte, 1), 1);
  }
  hosts_->cut(1);
  EXPECT_EQ(waitFor(children_[0]), 0);
  EXPECT_EQ(waitFor(children_[1]), 0);
}

constexpr std::chrono::seconds kSilence{1};

// Returns whether the monitor reports, within this time, that the host does not answer while nothing moves.
bool becomesSilent(LinkMonitor& monitor, std::chrono::seconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (std::chrono::steady_clock::now() < end) {
    if (monitor.silent(7)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

LinkMonitor between(int from, int to) {
  return {sockets::SocketAddress::parse(Namespaces::address(from) + ":0"),
          sockets::SocketAddress::parse(Namespaces::address(to) + ":9"), kSilence};
}

class RailWatched : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(RailWatched, AHostThatRefusesIsThere) {
  const Namespaces hosts(2);
  EXPECT_EQ(hosts.run(0,
                      [] {
                        LinkMonitor monitor = between(0, 1);
                        return becomesSilent(monitor, 3 * kSilence) ? 1 : 0;
                      }),
            0);
}

TEST_F(RailWatched, WhoLooksAgainAfterAWhileAsksAnew) {
  const Namespaces hosts(2);
  EXPECT_EQ(hosts.run(0,
                      [] {
                        LinkMonitor monitor = between(0, 1);
                        for (int look = 0; look < 4; ++look) {
                          if (monitor.silent(7)) return 1;
                          std::this_thread::sleep_for(kSilence);
                        }
                        return 0;
                      }),
            0);
}

TEST_F(RailWatched, AHostBehindACutCableIsSilentAndComesBack) {
  const Namespaces hosts(2);
  hosts.cut(1);
  EXPECT_EQ(hosts.run(0,
                      [&] {
                        LinkMonitor monitor = between(0, 1);
                        if (!becomesSilent(monitor, std::chrono::seconds(30))) return 1;
                        hosts.mend(1);
                        for (int look = 0; look < 3000; ++look) {
                          if (!monitor.silent(7)) return 0;
                          std::this_thread::sleep_for(std::chrono::milliseconds(10));
                        }
                        return 2;
                      }),
            0);
}

// Data that arrives shows that the link works, even if the cable is cut.
TEST_F(RailWatched, WhatMovesIsNotSilent) {
  const Namespaces hosts(2);
  hosts.cut(1);
  EXPECT_EQ(hosts.run(0,
                      [] {
                        LinkMonitor monitor = between(0, 1);
                        for (std::uint64_t moved = 0; moved < 150; ++moved) {
                          if (monitor.silent(moved)) return 1;
                          std::this_thread::sleep_for(std::chrono::milliseconds(10));
                        }
                        return 0;
                      }),
            0);
}

// Returns whether the host answers within a second, even if it refuses the connection.
bool answers(const std::string& address) {
  try {
    const FileDescriptor socket =
        sockets::startConnect(sockets::SocketAddress::parse(address + ":9"), nullptr);
    if (!socket) return true;  // refused at once
    pollfd ready{socket.get(), POLLOUT, 0};
    return poll(&ready, 1, 1000) == 1 && sockets::connectOutcome(socket.get()) == ECONNREFUSED;
  } catch (const Error&) {
    return false;  // unreachable
  }
}

// Tries repeatedly, as the kernel notices up to a second later that a cable is back, and later on a loaded
// machine.
bool reaches(const std::string& address) {
  for (int attempt = 0; attempt < 30; ++attempt) {
    if (answers(address)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

TEST(Namespaces, HostsReachEachOtherUntilACableIsCut) {
  if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  const Namespaces hosts(3);
  EXPECT_EQ(hosts.run(0, [] { return reaches(Namespaces::address(2)) ? 0 : 1; }), 0);
  EXPECT_EQ(hosts.run(1, [] { return reaches("[" + Namespaces::address6(2) + "]") ? 0 : 1; }), 0);
  hosts.cut(2);
  EXPECT_EQ(hosts.run(0, [] { return answers(Namespaces::address(2)) ? 0 : 1; }), 1);
  EXPECT_EQ(hosts.run(0, [] { return reaches(Namespaces::address(1)) ? 0 : 1; }), 0);
  hosts.mend(2);
  EXPECT_EQ(hosts.run(0, [] { return reaches(Namespaces::address(2)) ? 0 : 1; }), 0);
}

TEST(Namespaces, ProgramsRunOnTheirHosts) {
  if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  const Namespaces hosts(1);
  EXPECT_EQ(waitFor(hosts.startProgram(0, {"ip", "link", "show", "eth0"})), 0);
  EXPECT_NE(waitFor(hosts.startProgram(0, {"ip", "link", "show", "up0"})), 0);
}

}  // namespace
}  // namespace xylem::transport
