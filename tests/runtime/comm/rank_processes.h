#pragma once
// Ranks as real processes: each runs this test program again, in one role.
//
//   TEST(RankProcess, Role) { if (inRankProcess()) runRole(); }     // in the test file
//   RankProcess rank("allreduce", 1, 3, id);                        // starts it
//   rank.kill(SIGKILL);
//
// Or, in any other file, a role of its own, whose result is the exit status:
//
//   const RankRole kSum("sum", [](int rank, int ranks, const ncclUniqueId& id) { ... return 0; });
//
// The program is started, not forked, so that the threads of this process do no harm.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"
#include "support/hex.h"

namespace xylem::testing {

inline std::string hexOf(const ncclUniqueId& id) { return hexOf(id.internal); }

inline ncclUniqueId idOf(const std::string& hex) {
  ncclUniqueId id;
  bytesOf(hex, id.internal);
  return id;
}

// The role of this process; empty in the test program itself.
inline std::string roleOfThisProcess() {
  const char* role = std::getenv("XYLEM_TEST_ROLE");
  return role == nullptr ? "" : role;
}
inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

using RankBody = int (*)(int rank, int ranks, const ncclUniqueId& id);

// Make it at namespace scope.
class RankRole {
 public:
  RankRole(const std::string& name, RankBody body) { all()[name] = body; }
  // Null if there is no role of this name.
  static RankBody find(const std::string& name) { return all().contains(name) ? all()[name] : nullptr; }

 private:
  static std::map<std::string, RankBody>& all() {
    static std::map<std::string, RankBody> roles;
    return roles;
  }
};

class RankProcess {
 public:
  RankProcess(const std::string& role, int rank, int ranks, const ncclUniqueId& id) {
    std::vector<std::string> variables{"XYLEM_TEST_ROLE=" + role, "XYLEM_TEST_RANK=" + std::to_string(rank),
                                       "XYLEM_TEST_RANKS=" + std::to_string(ranks),
                                       "XYLEM_TEST_ID=" + hexOf(id)};
    for (char** v = environ; *v != nullptr; ++v) variables.emplace_back(*v);
    std::vector<char*> environment;
    for (std::string& v : variables) environment.push_back(v.data());
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=RankProcess.Role",
                brief = "--gtest_brief=1";
    std::array<char*, 4> arguments{program.data(), filter.data(), brief.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments.data(), environment.data()) != 0)
      pid_ = -1;
  }
  ~RankProcess() {
    if (pid_ > 0) kill(SIGKILL), wait();
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  bool started() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  void kill(int signal) const { ::kill(pid_, signal); }
  // Waits for the process; returns its exit status, or -1 if a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The same, but kills the process after `seconds`.
  int waitAtMost(int seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (siginfo_t ended{}; std::chrono::steady_clock::now() < end;) {
      if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT | WNOHANG) != 0 ||
          ended.si_pid == pid_)
        return wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kill(SIGKILL);
    return wait();
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace xylem::testing
