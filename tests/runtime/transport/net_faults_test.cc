// Tests of the network transport under faults: unauthenticated connections, peers that die, invalid headers.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <future>

#include "runtime/sockets/socket.h"
#include "runtime/transport/net/socket/socket_link.h"
#include "runtime/transport/net_rank.h"

namespace xylem::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

FileDescriptor connectTo(const sockets::WireAddress& address) {
  FileDescriptor socket = sockets::startConnect(sockets::SocketAddress::fromWire(address), nullptr);
  EXPECT_TRUE(soon([&] {
    pollfd ready{socket.get(), POLLOUT, 0};
    return poll(&ready, 1, 10) == 1;
  }));
  return socket;
}

// Unauthenticated connections of all kinds, open as long as the result lives.
std::vector<FileDescriptor> unauthenticatedAt(const sockets::WireAddress& address) {
  std::vector<FileDescriptor> unauthenticated;
  for (int i = 0; i < 3; ++i) unauthenticated.push_back(connectTo(address));
  // The first sends nothing, the second garbage, the third a valid beginning; a fourth closes at once.
  sockets::sendSome(unauthenticated[1].get(), bytesOf("GET / HTTP/1.1\r\n\r\n"));
  sockets::sendSome(unauthenticated[2].get(), bytesOf("xylemhi1"));
  connectTo(address);
  return unauthenticated;
}

template <typename Action>
std::string messageOf(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NetFaults, UnauthenticatedPeersWhileListeningHoldNobodyUp) {
  NetSetup setup;
  setup.secret = sockets::randomSecret();
  NetRank a(0, setup), b(1, setup);
  const auto atA = unauthenticatedAt(a.self.net), atB = unauthenticatedAt(b.self.net);
  connectPair(a, b, {0}, {0});
  const std::byte data[8]{};
  std::byte got[8];
  ASSERT_TRUE(a.connection->sender(0).send(Protocol::kLl, data, 8));
  EXPECT_TRUE(soon([&] { return b.connection->receiver(0).take(Protocol::kLl, got, 8); }));
}

TEST(NetFaults, ARankWithAnotherSecretIsNotLetIn) {
  NetSetup setup, other;
  setup.secret = sockets::randomSecret();
  other.secret = sockets::randomSecret();
  NetRank a(0, other), b(1, setup);
  auto waiting =
      std::async(std::launch::async, [&] { return messageOf([&] { b.connect(a.self, {0}, {0}, 1); }); });
  EXPECT_THAT(messageOf([&] { a.connect(b.self, {0}, {0}, 1); }),
              AllOf(HasSubstr("rank 1"), HasSubstr("secret")));
  EXPECT_THAT(waiting.get(), HasSubstr("rank 0"));
}

// Both ends of a link, each of a network with its own secret.
struct Link {
  explicit Link(const sockets::Secret& connectors, const sockets::Secret& listeners)
      : sending({{{"lo", sockets::SocketAddress::parse("127.0.0.1:0")}}, {0, 2}}, connectors, log),
        receiving({{{"lo", sockets::SocketAddress::parse("127.0.0.1:0")}}, {0, 2}}, listeners, log),
        listener(receiving.listen(0)),
        connector(sending.call(0, listener->handle())) {}
  sockets::WireAddress address() const {
    sockets::WireAddress at;
    std::memcpy(&at, listener->handle().data(), sizeof at);
    return at;
  }
  bool join() {
    return soon(
        [&] {
          if (!sender) sender = connector->advance();
          if (!receiver) receiver = listener->accept();
          return sender && receiver;
        },
        std::chrono::seconds(2));
  }
  Settings settings;
  Logger log{settings};
  SocketNetwork sending, receiving;
  std::unique_ptr<NetListener> listener;
  std::unique_ptr<NetConnector> connector;
  std::unique_ptr<NetSender> sender;
  std::unique_ptr<NetReceiver> receiver;
};

TEST(NetFaults, UnauthenticatedPeersAtALinkHoldNobodyUp) {
  const sockets::Secret secret = sockets::randomSecret();
  Link link(secret, secret);
  const auto unauthenticated = unauthenticatedAt(link.address());
  ASSERT_TRUE(link.join());
  std::array<std::byte, 100> data{}, got{};
  data[99] = std::byte{7};
  const NetBuffer buffer{got.data(), got.size(), 5};
  NetRequest* receive = link.receiver->irecv({&buffer, 1});
  NetRequest* send = link.sender->isend(data.data(), data.size(), 5);
  std::size_t bytes = 0;
  EXPECT_TRUE(soon([&] { return link.sender->test(send); }));
  EXPECT_TRUE(soon([&] { return link.receiver->test(receive, &bytes); }));
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(got[99], std::byte{7});
}

TEST(NetFaults, ALinkNeedsTheSecret) {
  Link link(sockets::randomSecret(), sockets::randomSecret());
  EXPECT_THAT(messageOf([&] { link.join(); }), HasSubstr("secret"));
}

TEST(NetFaults, RequestsAreBoundedAndSmallerMessagesNormal) {
  const sockets::Secret secret = sockets::randomSecret();
  Link link(secret, secret);
  ASSERT_TRUE(link.join());
  std::byte data[16]{}, got[64];
  std::vector<NetRequest*> receives;
  const NetBuffer buffer{got, sizeof got, 1};
  while (NetRequest* request = link.receiver->irecv({&buffer, 1})) receives.push_back(request);
  EXPECT_EQ(receives.size(), kSocketRequests);
  for (std::size_t round = 0; round < 3 * kSocketRequests; ++round) {
    NetRequest* send = link.sender->isend(data, round % 17, 1);
    ASSERT_TRUE(soon([&] { return link.sender->test(send); }));
    std::size_t bytes = 99;
    NetRequest*& oldest = receives[round % kSocketRequests];
    ASSERT_TRUE(soon([&] { return link.receiver->test(oldest, &bytes); }));
    EXPECT_EQ(bytes, round % 17);
    oldest = link.receiver->irecv({&buffer, 1});
    ASSERT_NE(oldest, nullptr);
  }
}

// Headers with too many bytes, with another tag, and garbage.
TEST(NetFaults, NothingInAHeaderIsBelieved) {
  const sockets::Secret secret = sockets::randomSecret();
  const auto say = [&](std::size_t bytes, std::uint32_t tag) {
    Link link(secret, secret);
    EXPECT_TRUE(link.join());
    std::vector<std::byte> data(bytes), got(64);
    const NetBuffer buffer{got.data(), got.size(), 3};
    NetRequest* receive = link.receiver->irecv({&buffer, 1});
    link.sender->isend(data.data(), data.size(), tag);
    return messageOf([&] { soon([&] { return link.receiver->test(receive); }); });
  };
  EXPECT_THAT(say(65, 3), AllOf(HasSubstr("65 bytes"), HasSubstr("at most 64")));
  EXPECT_THAT(say(64, 4), HasSubstr("tag 4"));

  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const FileDescriptor liar(ends[0]);
  std::vector<FileDescriptor> sockets;
  sockets.emplace_back(ends[1]);
  SocketReceiver end(std::move(sockets), 0, 1234);
  NetReceiver& receiver = end;
  std::byte got[64];
  const NetBuffer buffer{got, sizeof got, 0};
  NetRequest* receive = receiver.irecv({&buffer, 1});
  sockets::sendSome(liar.get(), bytesOf("sixteen bytes of"));
  EXPECT_THAT(messageOf([&] { receiver.test(receive); }), HasSubstr("not the next message"));
}

// A message arrives in pieces of one byte, and then the link ends.
TEST(NetFaults, AMessageMayComeByteByByteAndTheLinkMayEndBehindIt) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  FileDescriptor sender(ends[0]);
  std::vector<FileDescriptor> sockets;
  sockets.emplace_back(ends[1]);
  SocketReceiver end(std::move(sockets), 0, 77);
  NetReceiver& receiver = end;
  std::byte got[8];
  const NetBuffer buffer{got, sizeof got, 0};
  NetRequest* first = receiver.irecv({&buffer, 1});
  NetRequest* second = receiver.irecv({&buffer, 1});
  const MessageHeader header{8, 0, 77};
  std::vector<std::byte> bytes(sizeof header + 8);
  std::memcpy(bytes.data(), &header, sizeof header);
  for (const std::byte& byte : bytes) {
    EXPECT_FALSE(receiver.test(first));
    ASSERT_EQ(sockets::sendSome(sender.get(), {&byte, 1}), 1);
  }
  sender.reset();
  EXPECT_TRUE(receiver.test(first));
  EXPECT_THROW(receiver.test(second), LinkBroken);
}

// Rank 1 is a process that is killed while rank 0 waits for it, or sends to it.
class Killed : public ::testing::TestWithParam<bool> {};
TEST_P(Killed, IsNoticedAndNamed) {
  const bool sending = GetParam();
  const NetSetup setup;
  const RankOneInProcess one(setup, [](NetRank& self, const Peer& zero) -> int {
    self.connect(zero, {0}, {0});
    for (;;) pause();
  });
  NetRank a(0, setup);
  a.connect(one.meet(a), {0}, {0});
  EXPECT_EQ(a.connection->news().state, PeerState::kThere);
  kill(one.process(), SIGKILL);
  const std::vector<std::byte> data(a.connection->sender(0).stepBytes(Protocol::kSimple));
  EXPECT_THAT(messageOf([&] {
                soon([&] {
                  if (sending)
                    a.connection->sender(0).send(Protocol::kSimple, data.data(), data.size());
                  else
                    a.connection->receiver(0).peek(Protocol::kSimple, 8);
                  return false;
                });
              }),
              HasSubstr("rank 1"));
  EXPECT_TRUE(soon([&] { return a.connection->news().state == PeerState::kLost; }));
  one.wait();
}
INSTANTIATE_TEST_SUITE_P(While, Killed, ::testing::Bool(),
                         [](const auto& sending) { return sending.param ? "Sending" : "Receiving"; });

TEST(NetFaults, AnAbortIsHeardBeforeItsConsequences) {
  const NetSetup setup;
  NetRank a(0, setup), b(1, setup);
  connectPair(a, b, {0}, {0});
  a.connection->abort(7, "rank 7 is gone");
  a.connection.reset();
  PeerNews news;
  EXPECT_NO_THROW(soon([&] {
    b.connection->receiver(0).peek(Protocol::kLl, 8);
    return (news = b.connection->news()).state != PeerState::kThere;
  }));
  EXPECT_EQ(news.state, PeerState::kAborted);
  EXPECT_EQ(news.failedRank, 7);
  EXPECT_EQ(news.text, "rank 7 is gone");
}

TEST(NetFaults, APeerThatLeavesWhileConnectingIsNamed) {
  const NetSetup setup;
  NetRank a(0, setup), b(1, setup);
  auto early = a.transport.open({.peer = 1, .sends = {0}, .receives = {0}}, b.self);
  auto late = b.transport.open({.peer = 0, .sends = {0}, .receives = {0}}, a.self);
  EXPECT_THAT(messageOf([&] {
                soon(
                    [&] {
                      if (early) early->advance();
                      late->advance();
                      early.reset();
                      return false;
                    },
                    std::chrono::seconds(1));
              }) + messageOf([&] {
                Connection* one = late.get();
                connectAll({&one, 1}, {Deadline::after(std::chrono::milliseconds(50)), {}});
              }),
              HasSubstr("rank 0"));
}

TEST(NetFaults, PeersThatWantDifferentThingsAreTold) {
  NetSetup setup, other;
  other.queueBytes = setup.queueBytes / 2;
  const auto both = [](NetRank& a, NetRank& b, const std::vector<QueueNic>& ofB) {
    auto theirs =
        std::async(std::launch::async, [&] { return messageOf([&] { b.connect(a.self, ofB, {0}, 5); }); });
    std::string ours = messageOf([&] { a.connect(b.self, {0}, {0}, 5); });
    return ours + theirs.get();
  };
  {
    NetRank a(0, setup), b(1, setup);
    EXPECT_THAT(both(a, b, {0, 0}), HasSubstr("queues"));
  }
  NetRank a(0, setup), b(1, other);
  EXPECT_THAT(both(a, b, {0}), HasSubstr("NCCL_BUFFSIZE"));
}

}  // namespace
}  // namespace xylem::transport
