// The network transport between hosts: network namespaces, each with its own interface.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "support/namespaces.h"
#include "runtime/transport/net_rank.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;

// Two ranks on hosts of their own tell each other where they are through pipes.
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
  // Starts both; `body` runs connected.
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

// Both wait for data that never comes, one of them after having sent some: 3 seconds of silence are allowed.
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

}  // namespace
}  // namespace xylem
