// Tests of data over the network transport: all protocols and sizes, several sockets and threads, small
// buffers, and queues that no thread pumps.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "runtime/transport/net_rank.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xff);
  return data;
}

// Less than a step. With much less the loopback is very slow, as its packets have 64 KiB.
constexpr int kTinyBuffer = 40000;

// Sends `data` in steps, shared or copied.
void sendAll(SendEnd& end, const Bytes& data, bool share) {
  const std::size_t step = end.stepBytes(Protocol::kSimple);
  for (std::size_t at = 0; at < data.size(); at += step) {
    const std::size_t bytes = std::min(step, data.size() - at);
    ASSERT_TRUE(soon([&] {
      return share ? end.share(Protocol::kSimple, data.data() + at, bytes)
                   : end.send(Protocol::kSimple, data.data() + at, bytes);
    }));
  }
}

void receiveAll(RecvEnd& end, Bytes& data) {
  const std::size_t step = end.stepBytes(Protocol::kSimple);
  for (std::size_t at = 0; at < data.size(); at += step)
    ASSERT_TRUE(soon(
        [&] { return end.take(Protocol::kSimple, data.data() + at, std::min(step, data.size() - at)); }));
}

// Sends large messages both ways at once and compares all bytes.
void exchangeLarge(const NetSetup& setup, std::size_t bytes = 3 << 20) {
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {0});
  const auto side = [bytes](NetRank& self, unsigned mine, unsigned theirs) {
    for (const bool share : {false, true}) {
      const Bytes out = pattern(bytes, mine);
      Bytes in(bytes);
      std::thread sender([&] { sendAll(self.connection->sender(0), out, share); });
      receiveAll(self.connection->receiver(0), in);
      sender.join();
      EXPECT_TRUE(in == pattern(bytes, theirs));
      EXPECT_TRUE(soon([&] { return self.connection->sender(0).drained(); }));
    }
  };
  std::thread other([&] { side(b, 2, 1); });
  side(a, 1, 2);
  other.join();
}

TEST(Net, EveryProtocolAndSizeArrives) {
  const NetSetup setup;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {});
  SendEnd& out = a.connection->sender(0);
  RecvEnd& in = b.connection->receiver(0);
  for (const Protocol protocol : kAllProtocols) {
    const std::size_t most = out.stepBytes(protocol);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{511},
                                    std::size_t{513}, std::size_t{8191}, most - 1, most}) {
      if (bytes > most) continue;
      const Bytes sent = pattern(bytes, 3);
      Bytes got(bytes);
      ASSERT_TRUE(soon([&] { return out.send(protocol, sent.data(), bytes); }));
      ASSERT_TRUE(soon([&] { return in.take(protocol, got.data(), bytes); }))
          << name(protocol) << " " << bytes;
      EXPECT_TRUE(got == sent) << name(protocol) << " " << bytes;
    }
  }
}

TEST(Net, AStepOfAnotherSizeIsAMistakeOfTheProgram) {
  const NetSetup setup;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {});
  const Bytes data = pattern(64, 0);
  ASSERT_TRUE(a.connection->sender(0).send(Protocol::kSimple, data.data(), 64));
  try {
    soon([&] { return b.connection->receiver(0).peek(Protocol::kSimple, 32) != nullptr; });
    FAIL() << "nothing noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_THAT(error.what(), HasSubstr("rank 0"));
  }
}

TEST(Net, ManyQueuesAndConnectionsOfAPair) {
  NetSetup setup;
  setup.queueBytes = 8192;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0, 0, 1, 7}, {0, 2});
  for (int i = 0; i < 4; ++i) {
    const Bytes data = pattern(100, static_cast<unsigned>(i));
    ASSERT_TRUE(a.connection->sender(i).send(Protocol::kLl, data.data(), data.size()));
  }
  for (int i = 3; i >= 0; --i) {
    Bytes got(100);
    ASSERT_TRUE(soon([&] { return b.connection->receiver(i).take(Protocol::kLl, got.data(), got.size()); }));
    EXPECT_TRUE(got == pattern(100, static_cast<unsigned>(i)));
  }
  EXPECT_EQ(a.connection->via(QueueUse::kSend, 0), "NET/Socket/0");
  EXPECT_EQ(a.connection->via(QueueUse::kReceive, 1), "NET/Socket/0");
  const auto first = std::move(a.connection), itsPeer = std::move(b.connection);
  std::thread other([&] { b.connect(a.self, {}, {0}, 20, 1); });
  a.connect(b.self, {0}, {}, 20, 1);
  other.join();
  ASSERT_TRUE(a.connection->sender(0).send(Protocol::kLl, pattern(4, 0).data(), 4));
  Bytes got(4);
  EXPECT_TRUE(soon([&] { return b.connection->receiver(0).take(Protocol::kLl, got.data(), 4); }));
}

// Calls of news() while the connection is set up neither take messages away from setting up nor report a
// connection that is not complete as lost.
TEST(Net, NewsWhileConnectingDoNoHarm) {
  NetRank a(0, {}), b(1, {});
  const auto open = [](NetRank& self, const NetRank& other) {
    return self.transport.open({.peer = other.self.rank, .sends = {0}, .receives = {0}}, other.self);
  };
  a.connection = open(a, b);
  b.connection = open(b, a);
  EXPECT_TRUE(soon([&] {
    for (NetRank* rank : {&a, &b}) {
      if (rank->connection->news().state != PeerState::kThere) return true;
      rank->connection->advance();
      if (rank->connection->news().state != PeerState::kThere) return true;
    }
    return a.connection->advance() && b.connection->advance();
  }));
  EXPECT_EQ(a.connection->news().state, PeerState::kThere);
  EXPECT_EQ(b.connection->news().state, PeerState::kThere);
  ASSERT_TRUE(a.connection->sender(0).send(Protocol::kLl, pattern(4, 0).data(), 4));
  Bytes got(4);
  EXPECT_TRUE(soon([&] { return b.connection->receiver(0).take(Protocol::kLl, got.data(), 4); }));
}

TEST(Net, LargeMessages) { exchangeLarge({}); }
TEST(Net, LargeMessagesOverIpv6) {
  NetSetup setup;
  setup.address = "::1";
  exchangeLarge(setup);
}
TEST(Net, LargeMessagesThroughTinySocketBuffers) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  exchangeLarge(setup, 1 << 20);
}
TEST(Net, LargeMessagesInTinySteps) {
  NetSetup setup;
  setup.queueBytes = 1024;
  exchangeLarge(setup, 100000);
}

class NetSockets : public ::testing::TestWithParam<SocketChoice> {};
TEST_P(NetSockets, ShareALargeMessage) {
  NetSetup setup;
  setup.sockets = GetParam();
  exchangeLarge(setup);
  setup.bufferBytes = kTinyBuffer;
  exchangeLarge(setup, 300001);
}
INSTANTIATE_TEST_SUITE_P(Choices, NetSockets,
                         ::testing::Values(SocketChoice{0, 2}, SocketChoice{0, 5}, SocketChoice{1, 2},
                                           SocketChoice{2, 1}, SocketChoice{4, 2}, SocketChoice{16, 4}),
                         [](const auto& choice) {
                           return std::to_string(choice.param.threads) + "Threads" +
                                  std::to_string(choice.param.socketsPerThread) + "SocketsEach";
                         });

TEST(SocketLayout, FollowsTheSettingsAndTheSpeed) {
  const auto layout = [](int threads, int each, int speed) {
    const SocketLayout l = chooseLayout({threads, each}, speed);
    return std::pair(l.sockets, l.helpers);
  };
  EXPECT_EQ(layout(-2, -2, 10000), std::pair(1, 0));
  EXPECT_EQ(layout(-2, -2, 50000), std::pair(2, 1));
  EXPECT_EQ(layout(-2, -2, 200000), std::pair(4, 2));
  EXPECT_EQ(layout(1, 1, 200000), std::pair(1, 0));
  EXPECT_EQ(layout(0, 3, 10000), std::pair(3, 0));
  EXPECT_EQ(layout(2, 3, 10000), std::pair(6, 2));
  EXPECT_EQ(layout(16, 64, 10000), std::pair(64, 16));
}

// Sent steps arrive although the sender never calls again, and although they exceed the system's buffers.
TEST(Net, TheProxySendsWhatWasLeftBehind) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {});
  const std::size_t step = a.connection->sender(0).stepBytes(Protocol::kSimple);
  for (unsigned i = 0; i < kQueueSteps; ++i)
    ASSERT_TRUE(a.connection->sender(0).send(Protocol::kSimple, pattern(step, i).data(), step));
  for (unsigned i = 0; i < kQueueSteps; ++i) {
    Bytes got(step);
    ASSERT_TRUE(soon([&] { return b.connection->receiver(0).take(Protocol::kSimple, got.data(), step); }));
    EXPECT_TRUE(got == pattern(step, i));
  }
}

// Shared data drains although the receiver has not begun to receive.
TEST(Net, TheProxyTakesInWhatArrivesEarly) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {});
  const std::size_t step = a.connection->sender(0).stepBytes(Protocol::kSimple);
  const Bytes data = pattern(step * 4, 9);
  sendAll(a.connection->sender(0), data, true);
  EXPECT_TRUE(soon([&] { return a.connection->sender(0).drained(); }));
  Bytes got(data.size());
  receiveAll(b.connection->receiver(0), got);
  EXPECT_TRUE(got == data);
}

// A step begins to arrive in its reader's buffer, and the rest arrives while no thread waits for it.
TEST(Net, AStepThatTheReaderLeftHalfwayIsPutTogether) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {});
  SendEnd& out = a.connection->sender(0);
  RecvEnd& in = b.connection->receiver(0);
  const std::size_t step = out.stepBytes(Protocol::kSimple);
  for (unsigned i = 0; i < 20; ++i) {
    const Bytes data = pattern(step, i);
    Bytes got(step);
    ASSERT_FALSE(in.take(Protocol::kSimple, got.data(), step));
    ASSERT_TRUE(out.share(Protocol::kSimple, data.data(), step));
    const bool whole = in.take(Protocol::kSimple, got.data(), step);
    // The proxies receive the rest into the slot.
    ASSERT_TRUE(soon([&] { return out.drained(); }));
    if (!whole) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ASSERT_TRUE(soon([&] { return in.take(Protocol::kSimple, got.data(), step); }));
    }
    EXPECT_TRUE(got == data) << i;
  }
}

// A rank that computes for longer than the silence that is allowed, while its queues and the system's
// buffers are full, is not lost.
TEST(Net, APeerThatDoesNotReadIsNotSilent) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  setup.silence = std::chrono::seconds(1);
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {});
  SendEnd& out = a.connection->sender(0);
  const std::size_t step = out.stepBytes(Protocol::kSimple);
  unsigned sent = 0;
  Bytes next = pattern(step, sent);
  Deadline full = Deadline::after(std::chrono::seconds(3));
  while (!full.passed()) {
    if (out.send(Protocol::kSimple, next.data(), step)) next = pattern(step, ++sent);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(a.connection->news().state, PeerState::kThere);
  EXPECT_GE(sent, 2 * kQueueSteps);
  for (unsigned i = 0; i < sent; ++i) {
    Bytes got(step);
    ASSERT_TRUE(soon([&] { return b.connection->receiver(0).take(Protocol::kSimple, got.data(), step); }));
    EXPECT_TRUE(got == pattern(step, i));
  }
}

TEST(Net, AGoodbyeWaitsForWhatWasSent) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {0});
  const std::size_t step = a.connection->sender(0).stepBytes(Protocol::kSimple);
  for (unsigned i = 0; i < 4; ++i)
    ASSERT_TRUE(a.connection->sender(0).send(Protocol::kSimple, pattern(step, i).data(), step));
  a.connection.reset();
  ASSERT_TRUE(soon([&] { return b.connection->news().state != PeerState::kThere; }));
  EXPECT_EQ(b.connection->news().state, PeerState::kClosed);
  for (unsigned i = 0; i < 4; ++i) {
    Bytes got(step);
    ASSERT_TRUE(b.connection->receiver(0).take(Protocol::kSimple, got.data(), step));
    EXPECT_TRUE(got == pattern(step, i));
  }
  EXPECT_EQ(b.connection->receiver(0).peek(Protocol::kSimple, step), nullptr);
}

// Two queues of opposite directions use one TCP connection, so data that a rank never reads must not destroy
// what it has sent.
TEST(Net, AGoodbyeWithSomethingUnreadTakesNothingBack) {
  NetSetup setup;
  setup.bufferBytes = kTinyBuffer;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {0});
  const std::size_t step = a.connection->sender(0).stepBytes(Protocol::kSimple);
  for (unsigned i = 0; i < 4; ++i) {
    ASSERT_TRUE(b.connection->sender(0).send(Protocol::kLl, pattern(8, i).data(), 8));
    ASSERT_TRUE(a.connection->sender(0).send(Protocol::kSimple, pattern(step, i).data(), step));
  }
  a.connection.reset();
  ASSERT_TRUE(soon([&] { return b.connection->news().state != PeerState::kThere; }));
  for (unsigned i = 0; i < 4; ++i) {
    Bytes got(step);
    ASSERT_TRUE(soon([&] { return b.connection->receiver(0).take(Protocol::kSimple, got.data(), step); }));
    EXPECT_TRUE(got == pattern(step, i));
  }
}

// Counts the sockets of this process; duplicated descriptors of a socket count once.
std::size_t socketsOpen() {
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:")) sockets.insert(target);
  }
  return sockets.size();
}

TEST(Net, AQueueAndTheOneBackShareASocket) {
  const NetSetup setup;
  const auto socketsOf = [&](const std::vector<QueueNic>& sends, const std::vector<QueueNic>& receives) {
    NetRank a(0, setup), b(1, setup);
    const std::size_t before = socketsOpen();
    connectPair(a, b, sends, receives);
    return socketsOpen() - before;
  };
  const std::size_t one = socketsOf({0}, {});
  EXPECT_EQ(socketsOf({0}, {0}), one);
  EXPECT_EQ(socketsOf({0, 0}, {0}), one + 2);
  EXPECT_EQ(socketsOf({0, 0}, {0, 0}), one + 2);
}

TEST(Net, SaysWhyItIsNotViable) {
  const NetSetup setup;
  NetRank a(0, setup);
  Peer other = a.self;
  other.rank = 1;
  EXPECT_TRUE(a.transport.isViable(a.self, other).viable);
  other.net.family = 6;
  EXPECT_THAT(a.transport.isViable(a.self, other).reason, HasSubstr("rank 1 an IPv6"));
  other.net.family = 0;
  EXPECT_THAT(a.transport.isViable(a.self, other).reason, HasSubstr("rank 1 has no address"));
}

// The processes of two ranks, thousands of small round trips.
TEST(Net, AcrossProcesses) {
  const NetSetup setup;
  const auto roundTrips = [](NetRank& self, bool first) {
    std::uint64_t value = 0;
    auto* bytes = reinterpret_cast<std::byte*>(&value);
    SendEnd& out = self.connection->sender(0);
    RecvEnd& in = self.connection->receiver(0);
    for (std::uint64_t i = 0; i < 5000; ++i) {
      if (first && !soon([&] { return out.send(Protocol::kLl, bytes, 8); })) return false;
      if (!soon([&] { return in.take(Protocol::kLl, bytes, 8); })) return false;
      if (value != i + (first ? 1 : 0)) return false;
      if (!first) ++value;
      if (!first && !soon([&] { return out.send(Protocol::kLl, bytes, 8); })) return false;
    }
    return true;
  };
  const RankOneInProcess one(setup, [&](NetRank& self, const Peer& zero) {
    self.connect(zero, {0}, {0});
    const bool right = roundTrips(self, false);
    self.connection.reset();
    return right ? 0 : 2;
  });
  NetRank a(0, setup);
  a.connect(one.meet(a), {0}, {0});
  EXPECT_TRUE(roundTrips(a, true));
  EXPECT_EQ(one.wait(), 0);
}

}  // namespace
}  // namespace xylem::transport
