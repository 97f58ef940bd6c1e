// The congestion control of sockets for data.

#include "runtime/sockets/congestion.h"

#include <gmock/gmock.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "core/error.h"
#include "runtime/sockets/socket.h"

namespace xylem::sockets {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string usedBy(int socket) {
  std::array<char, 16> name{};
  socklen_t size = name.size() - 1;
  EXPECT_EQ(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size), 0);
  return name.data();
}

std::string systems() { return usedBy(FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)).get()); }

// Both ends of a connection over the loopback.
struct Connected {
  explicit Connected(const Congestion& congestion) {
    const FileDescriptor listener = listenTcp(SocketAddress::parse("127.0.0.1:0"), congestion);
    caller = startConnect(SocketAddress::boundTo(listener.get()), nullptr, congestion);
    pollfd ready{listener.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 5000), 1);
    accepted = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    for (const FileDescriptor* end : {&caller, &accepted}) congestion.settle(end->get());
  }
  FileDescriptor caller, accepted;
};

TEST(Congestion, TheSystemsIsLeftAlone) {
  for (const Congestion& congestion : {Congestion(), Congestion("system")}) {
    EXPECT_EQ(congestion.chosen(), "");
    const Connected pair(congestion);
    EXPECT_EQ(usedBy(pair.caller.get()), systems());
    EXPECT_EQ(usedBy(pair.accepted.get()), systems());
  }
}

// Every kernel has it and lets every process use it.
TEST(Congestion, ANamedOneIsUsedAtBothEnds) {
  const Connected pair(Congestion("reno"));
  EXPECT_EQ(usedBy(pair.caller.get()), "reno");
  EXPECT_EQ(usedBy(pair.accepted.get()), "reno");
}

TEST(Congestion, AutomaticallyNoneWaitsForATimerOnAShortWay) {
  const Congestion congestion("auto");
  const Connected pair(congestion);
  for (const FileDescriptor* end : {&pair.caller, &pair.accepted}) {
    if (systems().starts_with("bbr"))
      EXPECT_THAT(usedBy(end->get()), AnyOf("cubic", "reno"));
    else
      EXPECT_EQ(usedBy(end->get()), systems());
  }
  EXPECT_EQ(congestion.chosen().empty(), !systems().starts_with("bbr"));
}

TEST(Congestion, OneThatTheKernelHasNotIsAnErrorThatNamesTheOthers) {
  try {
    Congestion("none-such");
    FAIL() << "nothing noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_THAT(error.what(), HasSubstr("XYLEM_TCP_CONGESTION"));
    EXPECT_THAT(error.what(), HasSubstr("`none-such`"));
    EXPECT_THAT(error.what(), HasSubstr("reno"));
  }
}

}  // namespace
}  // namespace xylem::sockets
