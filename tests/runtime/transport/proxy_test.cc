#include "runtime/transport/net/proxy.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/deadline.h"
#include "support/patience.h"

namespace xylem::transport {
namespace {

using testing::soon;

// A pump whose work either an eventfd reports, or `left` holds unreported.
class FakePump : public DrivenPump {
 public:
  bool pump() noexcept override {
    attention_.fetch_add(1);
    return false;
  }
  Drive drive(std::vector<pollfd>& fds) noexcept override {
    drives.fetch_add(1);
    if (left.exchange(0) > 0) return Drive::kMoved;
    std::uint64_t count;
    if (read(ready.get(), &count, sizeof count) > 0) {
      woken.fetch_add(1);
      return Drive::kMoved;
    }
    if (looks) return Drive::kPollAgain;
    fds.push_back({ready.get(), POLLIN, 0});
    return Drive::kSleep;
  }
  std::uint64_t attention() const noexcept override { return attention_.load(); }
  void makeReady() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(ready.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  FileDescriptor ready{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<int> left{0};
  std::atomic<int> drives{0};
  std::atomic<int> woken{0};
  bool looks = false;

 private:
  std::atomic<std::uint64_t> attention_{0};
};

void pauseFor(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// The proxies of this process.
int proxyThreads() {
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "xylem-proxy") ++found;
  }
  return found;
}

TEST(Proxy, WithoutQueuesThereIsNoThread) {
  ASSERT_TRUE(soon([] { return proxyThreads() == 0; })) << "of an earlier test";
  FakePump pump;
  Proxy proxy;
  EXPECT_EQ(proxyThreads(), 0);
  proxy.add(pump);
  EXPECT_TRUE(soon([] { return proxyThreads() == 1; }));
  proxy.remove(pump);
}

TEST(Proxy, WakesForADescriptor) {
  Proxy proxy;
  FakePump pump;
  proxy.add(pump);
  for (int i = 1; i <= 3; ++i) {
    pump.makeReady();
    EXPECT_TRUE(soon([&] { return pump.woken.load() == i; }));
  }
  proxy.remove(pump);
}

TEST(Proxy, SleepsWhileThereIsNothingToDo) {
  Proxy proxy;
  FakePump pump;
  proxy.add(pump);
  pauseFor(50);
  const int before = pump.drives.load();
  pauseFor(100);
  EXPECT_EQ(pump.drives.load(), before);
  proxy.remove(pump);
}

TEST(Proxy, TakesOverWhatAUserLeavesBehind) {
  Proxy proxy;
  FakePump pump;
  proxy.add(pump);
  for (int i = 0; i < 100; ++i) {
    pauseFor(i % 3);
    pump.left.store(1);
    pump.pump();
    proxy.wake();
    ASSERT_TRUE(soon([&] { return pump.left.load() == 0; })) << i;
  }
  proxy.remove(pump);
}

TEST(Proxy, LooksAgainWhereNoDescriptorTells) {
  Proxy proxy;
  FakePump pump;
  pump.looks = true;
  proxy.add(pump);
  pump.left.store(1);
  EXPECT_TRUE(soon([&] { return pump.left.load() == 0; }));
  proxy.remove(pump);
}

TEST(Proxy, IsOutOfAPumpThatHasBeenRemoved) {
  Proxy proxy;
  FakePump stays;
  proxy.add(stays);
  for (int i = 0; i < 50; ++i) {
    FakePump goes;
    goes.looks = i % 2 == 0;
    proxy.add(goes);
    goes.makeReady();
    pauseFor(i % 3);
    proxy.remove(goes);
    const int drives = goes.drives.load();
    pauseFor(1);
    ASSERT_EQ(goes.drives.load(), drives);
  }
  proxy.remove(stays);
}

}  // namespace
}  // namespace xylem::transport
