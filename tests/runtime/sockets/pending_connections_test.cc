// Accepting ranks among many unauthenticated connections, and the log lines about those.

#include "runtime/sockets/pending_connections.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/settings.h"
#include "runtime/sockets/accept_thread.h"
#include "runtime/sockets/connector.h"
#include "runtime/sockets/socket.h"
#include "support/patience.h"

namespace xylem::sockets {
namespace {

using testing::soon;

using ::testing::AllOf;
using ::testing::HasSubstr;

const SocketAddress& anyLoopbackPort() {
  static const SocketAddress address = SocketAddress::parse("127.0.0.1:0");
  return address;
}

Settings loud(const char* level) {
  Settings settings;
  settings.set(spec(Setting::kDebug), level, "test");
  return settings;
}

// A log that can be read while it is written.
class LogFile {
 public:
  explicit LogFile(const char* level = "INFO")
      : file_(std::tmpfile()), log_(loud(level), kDefaultSubsystems, file_) {}
  ~LogFile() { std::fclose(file_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const Logger& log() const { return log_; }
  std::string text() const {
    std::string text;
    char part[65536];
    for (ssize_t n = 0; (n = pread(fileno(file_), part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
      text.append(part, static_cast<std::size_t>(n));
    return text;
  }
  std::size_t count(const std::string& words) const {
    const std::string all = text();
    std::size_t found = 0;
    for (std::size_t at = 0; (at = all.find(words, at)) != std::string::npos; ++at) ++found;
    return found;
  }

 private:
  std::FILE* file_;
  Logger log_;
};

FileDescriptor connectTo(const Acceptor& acceptor) {
  FileDescriptor fd = startConnect(acceptor.address(), nullptr);
  pollfd connected{fd.get(), POLLOUT, 0};
  poll(&connected, 1, 10'000);
  return fd;
}

bool closedByPeer(const FileDescriptor& fd) {
  std::byte byte;
  return receiveSome(fd.get(), {&byte, 1}) < 0;
}

bool meets(Acceptor& acceptor, Connector& connector) {
  bool connected = false, accepted = false;
  return soon([&] {
    connected = connected || connector.advance();
    accepted = accepted || !acceptor.advance().empty();
    return connected && accepted;
  });
}

TEST(PendingConnections, ACrowdThatSaysNothingKeepsNobodyOutAndTheOldestGoFirst) {
  const LogFile file;
  const Secret secret = randomSecret();
  Acceptor acceptor(anyLoopbackPort(), secret, file.log());
  const std::size_t many = PendingConnections::kMaxPerState + 100;
  std::vector<FileDescriptor> crowd;
  while (crowd.size() < many) {
    crowd.push_back(connectTo(acceptor));
    acceptor.advance();
  }
  Connector connector(acceptor.address(), nullptr, secret, {});
  EXPECT_TRUE(meets(acceptor, connector));
  EXPECT_TRUE(closedByPeer(crowd.front()));
  EXPECT_FALSE(closedByPeer(crowd.back()));
  const std::size_t dropped = file.count("too many connections at once that did not say who they are");
  EXPECT_GE(dropped, 100u);
  EXPECT_LE(dropped, 101u);
  crowd.clear();
  EXPECT_TRUE(soon(
      [&] { return acceptor.advance().empty() && !acceptor.pendingConnections().hasUnauthenticated(); }));
  EXPECT_EQ(file.count("dropped a connection from 127.0.0.1:"), many) << "a line for each";
}

TEST(PendingConnections, HellosWithoutAProofKeepNobodyOut) {
  const LogFile file;
  const Secret secret = randomSecret();
  Acceptor acceptor(anyLoopbackPort(), secret, file.log());
  std::vector<FileDescriptor> crowd;
  const Hello hello;
  while (crowd.size() < PendingConnections::kMaxPerState + 10) {
    crowd.push_back(connectTo(acceptor));
    sendSome(crowd.back().get(), std::as_bytes(std::span(&hello, 1)));
    acceptor.advance();
  }
  Connector connector(acceptor.address(), nullptr, secret, {});
  EXPECT_TRUE(meets(acceptor, connector));
  EXPECT_GE(file.count("too many connections at once that did not show who they are"), 9u);
}

TEST(PendingConnections, SaysWhatUnauthenticatedPeersDid) {
  const LogFile file;
  Acceptor acceptor(anyLoopbackPort(), randomSecret(), file.log(), "Door");
  connectTo(acceptor).reset();
  const FileDescriptor browser = connectTo(acceptor);
  sendSome(browser.get(), std::as_bytes(std::span("GET / HTTP/1.0\r\n\r\n")));
  Connector other(acceptor.address(), nullptr, randomSecret(), {});
  EXPECT_TRUE(soon([&] {
    acceptor.advance();
    try {
      other.advance();
    } catch (const Error&) {
      return true;
    }
    return false;
  }));
  other.take().reset();
  EXPECT_TRUE(soon([&] { return acceptor.advance().empty() && file.count("dropped") == 3; }));
  EXPECT_THAT(file.text(),
              AllOf(HasSubstr("Door : dropped a connection from 127.0.0.1:"),
                    HasSubstr("closed without a word"), HasSubstr("does not speak Xylem's protocol"),
                    HasSubstr("before both sides had shown that they belong to this job")));
}

// If too many files are open, unauthenticated connections are dropped for new ones. If there are none to
// drop, accepting pauses.
TEST(PendingConnections, LivesWithoutDescriptors) {
  const LogFile file;
  const Secret secret = randomSecret();
  Acceptor acceptor(anyLoopbackPort(), secret, file.log());
  const FileDescriptor first = connectTo(acceptor);
  acceptor.advance();
  Connector connector(acceptor.address(), nullptr, secret, {});
  const FileDescriptor second = connectTo(acceptor);

  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 3;  // all of those are open
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  acceptor.advance();
  acceptor.advance();
  pollfd quiet{acceptor.pendingConnections().fd(), POLLIN, 0};
  const int readable = poll(&quiet, 1, 0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);

  EXPECT_EQ(readable, 0) << "the listener is left alone for a moment";
  EXPECT_TRUE(closedByPeer(first));
  EXPECT_EQ(file.count("Too many open files; this process may open"), 1u);
  EXPECT_TRUE(meets(acceptor, connector));
}

TEST(AcceptThread, SeesToDoorsThatNobodyLooksAt) {
  const LogFile file;
  const Secret secret = randomSecret();
  Acceptor acceptor(anyLoopbackPort(), secret, file.log());
  const BackgroundAccept accepting(acceptor.pendingConnections());
  connectTo(acceptor).reset();
  Connector connector(acceptor.address(), nullptr, secret, {});
  EXPECT_TRUE(soon([&] { return connector.advance(); })) << "nobody has asked for the caller yet";
  EXPECT_TRUE(soon([&] { return file.count("closed without a word") == 1; }));
  pollfd ready{acceptor.pendingConnections().fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 30'000), 1) << "whoever waits for a caller is woken";
  EXPECT_EQ(acceptor.advance().size(), 1u);
  EXPECT_EQ(poll(&ready, 1, 0), 0);
}

TEST(DroppedConnectionLog, WarnsOfTheFirstAndThenEverMoreRarely) {
  for (const char* level : {"WARN", "INFO"}) {
    const LogFile file(level);
    DroppedConnectionLog log(file.log(), "Door");
    for (int i = 0; i < 1500; ++i) log.dropped("10.0.0.7:40312", "it is a test");
    EXPECT_EQ(file.count("NCCL WARN"), DroppedConnectionLog::kMaxSingleWarnings + 2);
    EXPECT_EQ(file.count("dropped a connection"),
              level == std::string("INFO") ? 1500u : DroppedConnectionLog::kMaxSingleWarnings + 2);
    EXPECT_THAT(file.text(), HasSubstr("there have been 1000 here"));
  }
}

}  // namespace
}  // namespace xylem::sockets
