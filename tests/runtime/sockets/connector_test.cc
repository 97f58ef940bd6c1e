// Connecting, accepting, frames and the abort flag.

#include "runtime/sockets/connector.h"

#include <gmock/gmock.h>

#include <thread>

#include "core/error.h"
#include "core/settings.h"
#include "runtime/sockets/abort_flag.h"
#include "runtime/sockets/frames.h"
#include "runtime/sockets/pending_connections.h"
#include "runtime/sockets/socket.h"

namespace xylem::sockets {
namespace {

using ::testing::HasSubstr;

const SocketAddress& loopback() {
  static const SocketAddress address = SocketAddress::parse("127.0.0.1:0");
  return address;
}

Hello helloOf(int rank) {
  Hello hello;
  hello.purpose = Purpose::kRing;
  hello.rank = rank;
  return hello;
}

TEST(Connector, AndAcceptorMeet) {
  const Logger log{Settings()};
  const Secret secret = randomSecret();
  Acceptor acceptor(loopback(), secret, log);
  Connector connector(acceptor.address(), &acceptor.address(), secret, helloOf(3));
  std::vector<Accepted> accepted;
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  bool connected = false;
  while ((!connected || accepted.empty()) && !deadline.passed()) {
    connected = connected || connector.advance();
    for (Accepted& a : acceptor.advance()) accepted.push_back(std::move(a));
  }
  ASSERT_TRUE(connected);
  ASSERT_EQ(accepted.size(), 1u);
  EXPECT_EQ(accepted[0].hello.rank, 3);
}

TEST(Connector, TriesAgainWhereItIsCutOff) {
  const FileDescriptor listener = listenTcp(loopback());
  Connector connector(SocketAddress::boundTo(listener.get()), nullptr, randomSecret(), helloOf(0));
  int cutOff = 0;
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  try {
    while (!deadline.passed()) {
      if (acceptTcp(listener.get()).socket) ++cutOff;
      connector.advance();
    }
    FAIL() << "it never gave up";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("attempts"));
    EXPECT_GT(cutOff, 1);
  }
}

TEST(Connector, SaysThatNobodyListens) {
  SocketAddress nobody;
  {
    const FileDescriptor listener = listenTcp(loopback());
    nobody = SocketAddress::boundTo(listener.get());
  }
  Connector connector(nobody, nullptr, randomSecret(), helloOf(0));
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  while (!connector.refused() && !deadline.passed()) connector.advance();
  EXPECT_TRUE(connector.refused());
}

struct Streams {
  Streams() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    left = FrameStream(FileDescriptor(ends[0]));
    right = FrameStream(FileDescriptor(ends[1]));
  }
  FrameStream left, right;
};

TEST(Frames, OfEverySizeArriveWhole) {
  Streams streams;
  for (const std::size_t size : {0ul, 1ul, 65535ul, 65536ul, 65537ul, 1'000'003ul}) {
    std::vector<std::byte> payload(size);
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<std::byte>(i * 7);
    streams.left.queue(FrameKind::kMessage, payload, ResultCode::kSuccess, 42);
    Frame frame;
    for (auto read = FrameStream::Read::kNothing; read != FrameStream::Read::kFrame;) {
      ASSERT_TRUE(streams.left.flush());
      read = streams.right.read(frame, size);
      ASSERT_NE(read, FrameStream::Read::kClosed);
    }
    EXPECT_EQ(frame.header.tag, 42u);
    EXPECT_EQ(frame.payload, payload);
  }
}

TEST(Frames, LargerThanExpectedAreRefused) {
  Streams streams;
  streams.left.queue(FrameKind::kMessage, std::vector<std::byte>(11));
  streams.left.flush();
  Frame frame;
  EXPECT_THROW(streams.right.read(frame, 10), Error);
}

// A payload that is announced and never comes takes no memory.
TEST(Frames, AnnouncementsAreNotBelieved) {
  Streams streams;
  FrameHeader header;
  header.bytes = std::uint64_t{1} << 45;
  sendSome(streams.left.fd(), std::as_bytes(std::span(&header, 1)));
  Frame frame;
  EXPECT_EQ(streams.right.read(frame, std::size_t{1} << 46), FrameStream::Read::kNothing);
}

TEST(AbortFlag, CanBePolledFor) {
  AbortFlag flag;
  pollfd fd{flag.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, 0), 0);
  std::thread other([&] { flag.raise(); });
  EXPECT_EQ(poll(&fd, 1, 10'000), 1);
  other.join();
  EXPECT_TRUE(flag.raised());
  flag.raise();
  EXPECT_EQ(poll(&fd, 1, 0), 1) << "for ever";
}

TEST(Secrets, PartsAreToldApartByTheirLengths) {
  const std::string ab = "ab", c = "c", a = "a", bc = "bc";
  const auto bytes = [](const std::string& s) { return std::as_bytes(std::span(s)); };
  EXPECT_NE(derive("x", {bytes(ab), bytes(c)}), derive("x", {bytes(a), bytes(bc)}));
  EXPECT_NE(derive("x", {bytes(ab)}), derive("y", {bytes(ab)}));
  EXPECT_EQ(derive("x", {bytes(ab)}), derive("x", {bytes(ab)}));
}

}  // namespace
}  // namespace xylem::sockets
