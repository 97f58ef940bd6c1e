#include "support/namespaces.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <thread>

#include "core/error.h"
#include "runtime/sockets/interfaces.h"
#include "runtime/sockets/socket.h"

namespace xylem {
namespace {

// Whether somebody there answers, be it with a refusal, within a second.
bool answers(const std::string& address) {
  try {
    const FileDescriptor socket = startConnect(SocketAddress::parse(address + ":9"), nullptr);
    if (!socket) return true;  // refused at once
    pollfd ready{socket.get(), POLLOUT, 0};
    return poll(&ready, 1, 1000) == 1 && connectOutcome(socket.get()) == ECONNREFUSED;
  } catch (const Error&) {
    return false;  // no way there
  }
}

// As often as it takes: the kernel notices up to a second later that a cable carries again, and a loaded
// machine takes its time.
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
}  // namespace xylem
