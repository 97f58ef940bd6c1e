// Tests of messages that a socket's receiver reads straight into their reader's buffer, and of messages that
// are not as the reader expects.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "core/error.h"
#include "runtime/transport/net/socket/socket_link.h"

namespace xylem::transport {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kKey = 99;

Bytes counting(std::size_t bytes, unsigned from) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(from + i * 3 + i / 255);
  return data;
}

class SocketLanding : public ::testing::Test {
 protected:
  SocketLanding() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const int bytes = 4 << 20;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    writer_ = FileDescriptor(ends[0]);
    std::vector<FileDescriptor> sockets;
    sockets.emplace_back(ends[1]);
    receiver_ = std::make_unique<SocketReceiver>(std::move(sockets), 0, kKey);
  }

  NetRequest* offer(Bytes& buffer) {
    const NetBuffer one{buffer.data(), buffer.size(), 0};
    return receiver_->irecv({&one, 1});
  }
  void write(const void* data, std::size_t bytes) {
    ASSERT_EQ(send(writer_.get(), data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
  }
  void writeMessage(const Bytes& payload) {
    const MessageHeader header{payload.size(), 0, kKey ^ written_++};
    write(&header, sizeof header);
    if (!payload.empty()) write(payload.data(), payload.size());
  }

  FileDescriptor writer_;
  std::unique_ptr<SocketReceiver> receiver_;
  std::uint32_t written_ = 0;
};

TEST_F(SocketLanding, OfWhatIsThereAtOnce) {
  for (const std::size_t bytes : {100, 2047, 2048, 5000, 8192, 9000, 200000}) {
    const Bytes sent = counting(bytes, 1), next = counting(300, 2);
    Bytes slot(bytes), nextSlot(300), out(bytes);
    NetRequest* const first = offer(slot);
    NetRequest* const second = offer(nextSlot);
    writeMessage(sent);
    writeMessage(next);
    ReceiveBuffer buffer{out.data(), bytes};
    std::size_t got = 0;
    ASSERT_TRUE(receiver_->testInto(first, buffer, &got)) << bytes;
    EXPECT_EQ(got, bytes);
    EXPECT_EQ(buffer.filled, bytes);
    EXPECT_TRUE(out == sent) << bytes;
    ASSERT_TRUE(receiver_->test(second, &got)) << bytes;
    EXPECT_TRUE(nextSlot == next) << bytes;
  }
}

TEST_F(SocketLanding, OfWhatComesInParts) {
  const std::size_t bytes = 30000;
  for (const std::size_t cut : {1, 15, 16, 17, 5000, 30000}) {
    const Bytes sent = counting(bytes, 5);
    Bytes slot(bytes), out(bytes), stream(sizeof(MessageHeader));
    const MessageHeader header{bytes, 0, kKey ^ written_++};
    std::memcpy(stream.data(), &header, sizeof header);
    stream.insert(stream.end(), sent.begin(), sent.end());
    NetRequest* const request = offer(slot);
    ReceiveBuffer buffer{out.data(), bytes};
    write(stream.data(), cut);
    EXPECT_FALSE(receiver_->testInto(request, buffer, nullptr));
    write(stream.data() + cut, stream.size() - cut);
    ASSERT_TRUE(receiver_->testInto(request, buffer, nullptr));
    EXPECT_EQ(buffer.filled, bytes);
    EXPECT_TRUE(out == sent) << cut;
  }
}

TEST_F(SocketLanding, WithoutAPlaceItIsTheBuffer) {
  const Bytes sent = counting(20000, 7);
  Bytes slot(20000);
  NetRequest* const request = offer(slot);
  writeMessage(sent);
  ReceiveBuffer buffer{nullptr, sent.size()};
  ASSERT_TRUE(receiver_->testInto(request, buffer, nullptr));
  EXPECT_EQ(buffer.filled, 0u);
  EXPECT_TRUE(slot == sent);
}

TEST_F(SocketLanding, OfAnotherLengthItIsTheBufferAndWhatFollowsIsWhole) {
  for (const std::size_t expected : {4000, 20000})
    for (const std::ptrdiff_t off : {-3990, -1000, -1, 1, 4000}) {
      const Bytes sent = counting(expected + static_cast<std::size_t>(off), 11), next = counting(3000, 12);
      Bytes slot(30000), nextSlot(3000), out(expected);
      NetRequest* const first = offer(slot);
      NetRequest* const second = offer(nextSlot);
      writeMessage(sent);
      writeMessage(next);
      ReceiveBuffer buffer{out.data(), expected};
      std::size_t got = 0;
      ASSERT_TRUE(receiver_->testInto(first, buffer, &got)) << expected << off;
      EXPECT_EQ(got, sent.size());
      EXPECT_EQ(buffer.filled, 0u);
      EXPECT_TRUE(std::equal(sent.begin(), sent.end(), slot.begin())) << expected << off;
      ASSERT_TRUE(receiver_->test(second, &got)) << expected << off;
      EXPECT_TRUE(nextSlot == next) << expected << off;
    }
}

TEST_F(SocketLanding, FarTooShortWithMoreBehindIsAnError) {
  Bytes slot(30000), nextSlot(20000), out(30000);
  NetRequest* const first = offer(slot);
  offer(nextSlot);
  writeMessage(counting(10, 1));
  writeMessage(counting(20000, 2));
  ReceiveBuffer buffer{out.data(), out.size()};
  try {
    receiver_->testInto(first, buffer, nullptr);
    FAIL() << "nothing noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_NE(std::string(error.what()).find("a message of 10 bytes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace xylem::transport
