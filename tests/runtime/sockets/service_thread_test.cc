#include "runtime/sockets/service_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "support/sanitizers.h"

namespace xylem::sockets {
namespace {

class Server {
 public:
  static std::shared_ptr<Server> ofThisProcess() { return sharedInProcess<Server>(); }
  bool isOurs() const { return thread_.isOurs(); }
  bool serves() {
    while (process_.load() == 0) std::this_thread::yield();
    return process_.load() == getpid();
  }

 private:
  void serve(int stop) {
    process_ = getpid();
    pollfd entry{stop, POLLIN, 0};
    while (poll(&entry, 1, -1) <= 0) {
    }
  }

  std::atomic<pid_t> process_{0};
  ServiceThread thread_{"test-server", [this](int stop) { serve(stop); }};
};

TEST(ServiceThread, OneIsSharedUntilItsLastUserLetsGo) {
  auto first = Server::ofThisProcess();
  EXPECT_TRUE(first->serves());
  EXPECT_EQ(Server::ofThisProcess(), first);
  const std::weak_ptr<Server> watched = first;
  first.reset();  // the thread ends
  EXPECT_TRUE(watched.expired());
  EXPECT_TRUE(Server::ofThisProcess()->serves());
}

TEST(ServiceThread, AForkedChildLeavesItsParentsAloneAndHasItsOwn) {
  if (testing::kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow a fork of a process with threads";
  auto parents = Server::ofThisProcess();
  ASSERT_TRUE(parents->serves());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    bool right = !parents->isOurs();
    {
      const auto own = Server::ofThisProcess();
      right = right && own != parents && own->isOurs() && own->serves();
    }
    parents.reset();  // waits for no thread, and stops none
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(parents->isOurs());
}

}  // namespace
}  // namespace xylem::sockets
