// Ranks on several hosts of which one is killed or stopped, or whose cable is cut, in the middle of joining
// or of a collective: the errors of the others, how they go on, and that all can join again once the cable is
// back.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "faults/fault_points.h"
#include "hosts/host_job.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace xylem {
namespace {

using namespace testing;

constexpr const char* kJoinTimeout = kSanitized ? "10" : "2";

constexpr int kVictim = 3;
const std::vector<int> kHosts{0, 0, 1, 1};
constexpr int kCutHost = 1;

int number(const char* variable) { return std::atoi(std::getenv(variable)); }

// The ranks that this one can no longer reach.
std::vector<int> lostFor(const Seat& seat) {
  if (number("XYLEM_TEST_SIGNAL") != 0) return {kVictim};
  std::vector<int> lost;
  for (const int rank : seat.all())
    if (seat.hostOfRank[static_cast<std::size_t>(rank)] != seat.host()) lost.push_back(rank);
  return lost;
}

// Kills or stops this process, or waits until the cable is cut.
void beStruck(const Seat& seat) {
  seat.mark("struck");
  if (const int signal = number("XYLEM_TEST_SIGNAL"); signal != 0)
    kill(getpid(), signal);
  else
    seat.await("cut");
}

bool works(ncclComm_t comm, std::vector<float>& data) {
  return ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclMax, comm, nullptr) ==
             ncclSuccess &&
         cudaStreamSynchronize(nullptr) == cudaSuccess;
}

// Joins all, and then works until an operation fails; returns the error.
std::string failure(const Seat& seat) {
  const int point = number("XYLEM_TEST_POINT");
  if (seat.rank == kVictim && point > 0) callAt(point, [&] { beStruck(seat); });
  ncclComm_t comm = nullptr;
  const ncclResult_t joined = seat.tryToJoin(seat.all(), 0, comm);
  const std::string why = ncclGetLastError(nullptr);
  if (joined != ncclSuccess) {
    EXPECT_EQ(joined, ncclRemoteError) << why;
    return why;
  }
  std::vector<float> data(20'000, 1);
  for (int i = 0; works(comm, data); ++i)
    if (seat.rank == kVictim && point == 0 && i == 5) beStruck(seat);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  const std::string text = ncclGetLastError(comm);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  return text;
}

void sumAmong(const Seat& seat, const std::vector<int>& ranks, int attempt) {
  ncclComm_t comm = nullptr;
  ASSERT_EQ(seat.tryToJoin(ranks, attempt, comm), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<std::int32_t> sum(1000, 1);
  ASSERT_EQ(ncclAllReduce(sum.data(), sum.data(), sum.size(), ncclInt32, ncclSum, comm, nullptr),
            ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  EXPECT_THAT(sum, ::testing::Each(static_cast<std::int32_t>(ranks.size())));
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

const Role kStruck("struck", [](const Seat& seat) {
  const std::vector<int> lost = lostFor(seat);
  const std::string why = failure(seat);
  EXPECT_TRUE(std::any_of(lost.begin(), lost.end(), [&](int rank) {
    return std::regex_search(why, std::regex(fmt::format("\\branks? (\\d+, )*{}\\b", rank)));
  })) << why;
  std::vector<int> left;
  for (const int rank : seat.all())
    if (std::find(lost.begin(), lost.end(), rank) == lost.end()) left.push_back(rank);
  unsetenv("XYLEM_TIMEOUT");
  sumAmong(seat, left, 1);
  if (number("XYLEM_TEST_SIGNAL") != 0) return;
  seat.mark("alone");
  seat.await("mended");
  sumAmong(seat, seat.all(), 2);
});

struct Strike {
  const char* name;
  int signal;   // 0: the cable of its host is cut
  int point;    // of joining; 0: while it works
  bool always;  // or only at night
};
constexpr Strike kStrikes[] = {{"KilledWhileJoining", SIGKILL, 20, true},
                               {"KilledWhileMeeting", SIGKILL, 8, false},
                               {"StoppedWhileJoining", SIGSTOP, 20, false},
                               {"StoppedWhileMeeting", SIGSTOP, 8, false},
                               {"CutWhileMeeting", 0, 8, false},
                               {"CutWhileJoining", 0, 20, true},
                               {"StoppedWhileWorking", SIGSTOP, 0, true},
                               {"CutWhileWorking", 0, 0, true}};

class Struck : public ::testing::TestWithParam<Strike> {};

TEST_P(Struck, TheOthersSayWhoItIsAndGoOn) {
  if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  const auto& [name, signal, point, always] = GetParam();
  if (!always && effort() != Effort::kNight)
    GTEST_SKIP() << "takes seconds of waiting: XYLEM_TEST_EFFORT=night runs it";
  const Namespaces hosts(2);
  HostJob job(hosts, "struck",
              {.machines = {hostDevices(2), hostDevices(2)},
               .hostOfRank = kHosts,
               .variables = {{"XYLEM_TEST_SIGNAL", std::to_string(signal)},
                             {"XYLEM_TEST_POINT", std::to_string(point)},
                             {"XYLEM_TIMEOUT", kJoinTimeout},
                             {"XYLEM_PEER_TIMEOUT", "2"}}});
  ASSERT_TRUE(job.reached("struck", kVictim));
  if (signal == 0) {
    hosts.cut(kCutHost);
    job.announce("cut");
    ASSERT_TRUE(job.reached("alone"));
    hosts.mend(kCutHost);
    job.announce("mended");
  }
  for (int rank = 0; rank < static_cast<int>(kHosts.size()); ++rank)
    if (signal == 0 || rank != kVictim) {
      EXPECT_EQ(job.wait(rank), 0) << "rank " << rank << "\n" << job.log(rank);
    }
}

INSTANTIATE_TEST_SUITE_P(Rank, Struck, ::testing::ValuesIn(kStrikes),
                         [](const auto& sample) { return std::string(sample.param.name); });

}  // namespace
}  // namespace xylem
