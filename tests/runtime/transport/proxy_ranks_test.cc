// Queues over the network that another rank's proxy thread carries (PXN): rank 0 sends to rank 2 through rank 1.

#include "runtime/transport/net/pxn/proxy_ranks.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/transport/net_rank.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kQueueBytes = 64 << 10;

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

struct ProxiedRank {
  ProxiedRank(int rank, std::uint64_t host, bool mute = false)
      : address(sockets::SocketAddress::parse("127.0.0.1:0")),
        sessions(std::make_shared<PeerSessions>(
            SessionOptions{.rank = rank, .secret = {}, .local = true, .address = address}, log)) {
    network = std::make_unique<SocketNetwork>(
        SocketOptions{{{"test0", address}}, {0, 1}, std::chrono::seconds(20), 0}, sockets::Secret{}, log);
    if (mute) network = std::make_unique<MuteNetwork>(std::move(network));
    const StepBytes steps = stepBytesFor(kQueueBytes);
    ranks.emplace(CarriedQueue::Context{steps, network.get(), &proxy, nullptr});
    transport.emplace(sessions, NetOptions{.stepBytes = steps, .proxies = &*ranks}, *network, proxy);
    self.rank = rank;
    self.hostHash = host;
    transport->announce(self);
  }
  std::unique_ptr<Connection> open(const Peer& peer, std::vector<QueueNic> sends,
                                   std::vector<QueueNic> receives, std::uint32_t purpose = 0) {
    return transport->open(
        {.peer = peer.rank, .purpose = purpose, .sends = std::move(sends), .receives = std::move(receives)},
        peer);
  }

  Settings settings;
  Logger log{settings};
  sockets::SocketAddress address;
  Proxy proxy;
  std::unique_ptr<Network> network;
  std::shared_ptr<PeerSessions> sessions;
  std::optional<ProxyRanks> ranks;
  std::optional<NetTransport> transport;
  Peer self;
};

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
  explicit ThreeRanks(bool mute = false) : zero(0, 1), one(1, 1, mute), two(2, 2) {
    Connection& there = zero.ranks->open(one.self, *zero.sessions);
    Connection& back = one.ranks->open(zero.self, *one.sessions);
    zero.ranks->serve();
    one.ranks->serve();
    connectAlone({&there, &back});
  }
  ProxiedRank zero, one, two;
};

std::vector<std::byte> bytesOf(std::size_t count, unsigned seed) {
  std::vector<std::byte> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xff);
  return data;
}

TEST(ProxyRanks, CarryAllProtocolsAndSizes) {
  ThreeRanks ranks;
  const auto out = ranks.zero.open(ranks.two.self, {throughRankOne(), 0}, {0});
  const auto in = ranks.two.open(ranks.zero.self, {0}, {0, 0});
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
  const auto out = ranks.zero.open(ranks.two.self, {throughRankOne()}, {});
  const auto in = ranks.two.open(ranks.zero.self, {}, {0});
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
    auto out = ranks.zero.open(ranks.two.self, {throughRankOne()}, {}, round);
    const auto in = ranks.two.open(ranks.zero.self, {}, {0}, round);
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

TEST(ProxyRanks, SayWhyTheyCannotConnect) {
  ThreeRanks ranks(true);
  const auto out = ranks.zero.open(ranks.two.self, {throughRankOne()}, {});
  const auto in = ranks.two.open(ranks.zero.self, {}, {0});
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
  EXPECT_THAT(text, HasSubstr("rank 1, which sends for this rank (PXN): the cable is cut"));
}

TEST(ProxyRanks, AreNeededUntilTheOtherLeaves) {
  ThreeRanks ranks;
  EXPECT_TRUE(ranks.one.ranks->needed());
  ranks.zero.ranks->leave();
  EXPECT_FALSE(ranks.one.ranks->needed());
  EXPECT_TRUE(ranks.zero.ranks->needed());
}

// Rank 0 sends itself if its proxy rank is none that it knows.
TEST(ProxyRanks, AreNotUsedUnlessOpened) {
  ProxiedRank zero(0, 1), two(2, 2);
  const auto out = zero.open(two.self, {throughRankOne()}, {});
  const auto in = two.open(zero.self, {}, {0});
  connectAlone({out.get(), in.get()});
  EXPECT_EQ(out->via(QueueUse::kSend, 0), "NET/Socket/0");
}

// The proxy rank is gone, and with it the way to send.
TEST(ProxyRanks, AreMissed) {
  auto ranks = std::make_unique<ThreeRanks>();
  const auto out = ranks->zero.open(ranks->two.self, {throughRankOne()}, {});
  const auto in = ranks->two.open(ranks->zero.self, {}, {0});
  connectAlone({out.get(), in.get()});
  ranks->one.ranks.reset();
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
