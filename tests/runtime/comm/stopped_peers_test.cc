// Ranks notice that another rank of their host is stopped.

#include "runtime/comm/watch/stopped_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "core/error.h"

namespace xylem::comm {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr int kWatchedRanks = 40;
constexpr int kVictim = 3;

// A process that stays stopped for the lifetime of the object.
class StoppedProcess {
 public:
  StoppedProcess() {
    std::string name = "sleep";
    std::string seconds = "600";
    char* arguments[] = {name.data(), seconds.data(), nullptr};
    if (posix_spawnp(&pid_, "sleep", nullptr, nullptr, arguments, environ) == 0) kill(pid_, SIGSTOP);
  }
  ~StoppedProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// All ranks are on one host, each in a process of its own. All but the victim have this process's state.
std::vector<PeerInfo> hostWith(pid_t victim) {
  std::vector<PeerInfo> peers(kWatchedRanks);
  for (int rank = 0; rank < kWatchedRanks; ++rank) {
    transport::Peer& peer = peers[static_cast<std::size_t>(rank)].peer;
    peer.rank = rank;
    peer.hostHash = peer.pidNamespace = 1;
    peer.process = static_cast<std::uint64_t>(rank) + 1;
    peer.pid = rank == kVictim ? victim : getpid();
  }
  return peers;
}

// The error that a rank gets after waiting in vain.
std::string complaintOf(StoppedPeers& peers, int peer) {
  for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
    try {
      peers.check(peer, "a test");
    } catch (const Error& error) {
      return error.what();
    }
    std::this_thread::sleep_for(20ms);
  }
  return "";
}

TEST(StoppedPeers, OfManyAreSeenByThoseBeforeThem) {
  const StoppedProcess victim;
  ASSERT_GT(victim.pid(), 0);
  const auto peers = hostWith(victim.pid());
  for (const int rank : {kVictim - 1, (kVictim + kWatchedRanks - 16) % kWatchedRanks}) {
    StoppedPeers stopped(peers, rank, 1s);
    EXPECT_THAT(complaintOf(stopped, StoppedPeers::kAll), HasSubstr("rank 3 is stopped (SIGSTOP")) << rank;
  }
}

TEST(StoppedPeers, AreSeenByWhoeverWaitsForThem) {
  const StoppedProcess victim;
  ASSERT_GT(victim.pid(), 0);
  StoppedPeers stopped(hostWith(victim.pid()), kVictim + 10, 1s);
  EXPECT_THAT(complaintOf(stopped, kVictim), HasSubstr("rank 3 is stopped (SIGSTOP"));
  EXPECT_THAT(stopped.describe(), HasSubstr("rank 3 is stopped"));
}

}  // namespace
}  // namespace xylem::comm
