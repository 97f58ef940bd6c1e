// Queues over the network that another rank's proxy thread carries (PXN): rank 0 sends to rank 2 through rank 1.

#include "runtime/transport/net/pxn/proxy_ranks.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/transport/net_rank.h"
#include "runtime/transport/ranks.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;

// A network on which a rank cannot call others, or whose calls fail later.
class MuteNetwork final : public Network {
 public:
  explicit MuteNetwork(std::unique_ptr<Network> real) : real_(std::move(real)) {}
  std::string_view name() const override { return real_->name(); }
  int deviceCount() const override { return real_->deviceCount(); }
  NetProperties properties(int device) const override { return real_->properties(device); }
  std::unique_ptr<NetListener> listen(int device) override { return real_->listen(device); }
  std::unique_ptr<NetConnector> call(int, const NetHandle&) override {
    throw Error(ResultCode::kSystemError, "the cable is cut");
  }

 private:
  const std::unique_ptr<Network> real_;
};

NetSetup onHost(std::uint64_t host, bool mute = false) {
  NetSetup setup;
  setup.queueBytes = 64 << 10;
  setup.local = true;
  setup.host = host;
  if (mute)
    setup.network = [] {
      return std::make_unique<MuteNetwork>(
          networkOf({}, sockets::SocketAddress::parse("127.0.0.1:0"), silentLog()));
    };
  return setup;
}

std::unique_ptr<Connection> open(NetRank& from, const NetRank& to, std::vector<QueueNic> sends,
                                 std::vector<QueueNic> receives, std::uint32_t purpose = 0) {
  return from.transport.open(
      {.peer = to.self.rank, .purpose = purpose, .sends = std::move(sends), .receives = std::move(receives)},
      to.self);
}

QueueNic throughRankOne() {
  QueueNic nic(0);
  nic.proxy = 1;
  return nic;
}

// Advances connections of several ranks by one thread until all are ready.
void connectAlone(const std::vector<Connection*>& connections) {
  ASSERT_TRUE(soon([&] {
    bool all = true;
    for (Connection* connection : connections) all = connection->advance() && all;
    return all;
  }));
}

// Ranks 0 and 1 of a host, which know each other as proxy ranks, and rank 2 of another one.
struct ThreeRanks {
  explicit ThreeRanks(bool mute = false)
      : zero(0, onHost(1)), one(std::make_unique<NetRank>(1, onHost(1, mute))), two(2, onHost(2)) {
    makeProxies(zero, *one);
  }
  NetRank zero;
  std::unique_ptr<NetRank> one;
  NetRank two;
};

std::vector<std::byte> bytesOf(std::size_t count, unsigned seed) {
  std::vector<std::byte> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xff);
  return data;
}

TEST(ProxyRanks, CarryAllProtocolsAndSizes) {
  ThreeRanks ranks;
  const auto out = open(ranks.zero, ranks.two, {throughRankOne(), 0}, {0});
  const auto in = open(ranks.two, ranks.zero, {0}, {0, 0});
  connectAlone({out.get(), in.get()});
  EXPECT_EQ(out->via(QueueUse::kSend, 0), "NET/Socket/0(1)");
  EXPECT_EQ(out->via(QueueUse::kSend, 1), "NET/Socket/0");
  EXPECT_EQ(in->via(QueueUse::kReceive, 0), "NET/Socket/0");
  for (const Protocol protocol : kAllProtocols) {
    const std::size_t most = out->sender(0).stepBytes(protocol);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{511}, most}) {
      const std::vector<std::byte> sent = bytesOf(bytes, 3);
      std::vector<std::byte> got(bytes);
      for (int queue = 0; queue < 2; ++queue) {
        ASSERT_TRUE(soon([&] { return out->sender(queue).send(protocol, sent.data(), bytes); }));
        ASSERT_TRUE(soon([&] { return in->receiver(queue).take(protocol, got.data(), bytes); }));
        EXPECT_TRUE(got == sent) << name(protocol) << " " << bytes << ", queue " << queue;
      }
    }
  }
}

// More than the queue holds, in many steps; data that is shared otherwise is copied.
TEST(ProxyRanks, CarryMuch) {
  ThreeRanks ranks;
  const auto out = open(ranks.zero, ranks.two, {throughRankOne()}, {});
  const auto in = open(ranks.two, ranks.zero, {}, {0});
  connectAlone({out.get(), in.get()});
  const std::size_t step = out->sender(0).stepBytes(Protocol::kSimple);
  const std::vector<std::byte> sent = bytesOf(300 * step, 5);
  std::vector<std::byte> got(sent.size());
  std::thread sender([&] {
    for (std::size_t at = 0; at < sent.size(); at += step)
      ASSERT_TRUE(soon([&] { return out->sender(0).share(Protocol::kSimple, sent.data() + at, step); }));
  });
  for (std::size_t at = 0; at < got.size(); at += step)
    ASSERT_TRUE(soon([&] { return in->receiver(0).take(Protocol::kSimple, got.data() + at, step); }));
  sender.join();
  EXPECT_TRUE(got == sent);
}

// A rank that closes a connection waits until its proxy rank has sent everything; later connections are new queues.
TEST(ProxyRanks, CarryWhatWasWrittenBeforeTheConnectionIsClosed) {
  ThreeRanks ranks;
  for (std::uint32_t round = 0; round < 3; ++round) {
    auto out = open(ranks.zero, ranks.two, {throughRankOne()}, {}, round);
    const auto in = open(ranks.two, ranks.zero, {}, {0}, round);
    connectAlone({out.get(), in.get()});
    const std::vector<std::byte> sent = bytesOf(1000, round);
    for (int step = 0; step < 5; ++step)
      ASSERT_TRUE(out->sender(0).send(Protocol::kSimple, sent.data(), 1000));
    out.reset();
    for (int step = 0; step < 5; ++step) {
      std::vector<std::byte> got(1000);
      ASSERT_TRUE(soon([&] { return in->receiver(0).take(Protocol::kSimple, got.data(), 1000); }));
      EXPECT_TRUE(got == sent);
    }
    EXPECT_TRUE(soon([&] { return in->news().state == PeerState::kClosed; }));
  }
}

// The error with which rank 0 cannot connect to rank 2.
std::string errorOfConnecting(ThreeRanks& ranks) {
  const auto out = open(ranks.zero, ranks.two, {throughRankOne()}, {});
  const auto in = open(ranks.two, ranks.zero, {}, {0});
  std::string text;
  EXPECT_TRUE(soon([&] {
    try {
      in->advance();
      return out->advance();
    } catch (const Error& error) {
      text = error.what();
      return true;
    }
  }));
  return text;
}

TEST(ProxyRanks, SayWhyTheyCannotConnect) {
  ThreeRanks ranks(true);
  EXPECT_THAT(errorOfConnecting(ranks),
              HasSubstr("rank 1, which sends for this rank (PXN): the cable is cut"));
}

// The proxy rank cannot take what it is asked for, and says so, for later queues, too.
TEST(ProxyRanks, RefuseWhatIsNoQueue) {
  ThreeRanks ranks;
  ranks.zero.ranks.find(1)->ask({.receiver = 2, .device = 77}, STDIN_FILENO);
  EXPECT_THAT(errorOfConnecting(ranks),
              HasSubstr("rank 1, which was to send to it for this rank (PXN), could not take over"));
}

TEST(ProxyRanks, AreNeededUntilTheOtherLeaves) {
  ThreeRanks ranks;
  EXPECT_TRUE(ranks.one->ranks.needed());
  ranks.zero.ranks.leave();
  EXPECT_FALSE(ranks.one->ranks.needed());
  EXPECT_TRUE(ranks.zero.ranks.needed());
}

// Rank 0 sends itself if its proxy rank is none that it knows.
TEST(ProxyRanks, AreNotUsedUnlessOpened) {
  NetRank zero(0, onHost(1)), two(2, onHost(2));
  const auto out = open(zero, two, {throughRankOne()}, {});
  const auto in = open(two, zero, {}, {0});
  connectAlone({out.get(), in.get()});
  EXPECT_EQ(out->via(QueueUse::kSend, 0), "NET/Socket/0");
}

// The proxy rank is gone, and with it the way to send.
TEST(ProxyRanks, AreMissed) {
  auto ranks = std::make_unique<ThreeRanks>();
  const auto out = open(ranks->zero, ranks->two, {throughRankOne()}, {});
  const auto in = open(ranks->two, ranks->zero, {}, {0});
  connectAlone({out.get(), in.get()});
  ranks->one.reset();
  EXPECT_EQ(out->news().state, PeerState::kThere) << "nothing is left to send";
  const std::vector<std::byte> data = bytesOf(100, 0);
  ASSERT_TRUE(out->sender(0).send(Protocol::kSimple, data.data(), data.size()));
  PeerNews news;
  ASSERT_TRUE(soon([&] {
    news = out->news();
    return news.state == PeerState::kLost;
  }));
  EXPECT_THAT(news.how, HasSubstr("rank 1, which sends to it for this rank (PXN), is gone"));
}

}  // namespace
}  // namespace xylem::transport
