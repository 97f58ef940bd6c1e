// Hosts and ranks that vanish while others wait for them, and how the others go on.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "hosts/host_job.h"

namespace xylem {
namespace {

using namespace testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// The ranks that this one can still reach after the fault: XYLEM_TEST_LOST is the rank, or the host, that is
// lost.
std::vector<int> survivorsBeside(const Seat& seat) {
  const char* rank = std::getenv("XYLEM_TEST_LOST_RANK");
  const char* host = std::getenv("XYLEM_TEST_LOST_HOST");
  std::vector<int> all;
  for (int r = 0; r < seat.ranks(); ++r) {
    const int h = seat.hostOfRank[static_cast<std::size_t>(r)];
    if (rank != nullptr && r == std::atoi(rank)) continue;
    if (host != nullptr && (h == std::atoi(host)) != (seat.host() == std::atoi(host))) continue;
    all.push_back(r);
  }
  return all;
}

bool allReduce(ncclComm_t comm, std::vector<float>& data) {
  return ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclMax, comm, nullptr) ==
             ncclSuccess &&
         cudaStreamSynchronize(nullptr) == cudaSuccess;
}

// Works until an operation fails, prints its error, and goes on with the ranks that are left.
const Role kLoop("loop", [](const Seat& seat) {
  ncclComm_t comm = seat.join();
  ASSERT_NE(comm, nullptr);
  std::vector<float> data(20'000, 1);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(allReduce(comm, data)) << ncclGetLastError(comm);
  seat.mark("working");
  while (allReduce(comm, data)) {
  }
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  const std::vector<int> left = survivorsBeside(seat);
  std::vector<std::string> lost;
  for (int r = 0; r < seat.ranks(); ++r)
    if (std::find(left.begin(), left.end(), r) == left.end()) lost.push_back("rank " + std::to_string(r));
  const std::string why = ncclGetLastError(comm);
  EXPECT_TRUE(std::any_of(lost.begin(), lost.end(), [&](const std::string& name) {
    return why.find(name + " ") != std::string::npos;
  })) << why;
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);

  ncclComm_t again = seat.joinAmong(left);
  ASSERT_NE(again, nullptr);
  std::vector<std::int32_t> sum(1000, 1);
  ASSERT_EQ(ncclAllReduce(sum.data(), sum.data(), sum.size(), ncclInt32, ncclSum, again, nullptr),
            ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(again);
  EXPECT_THAT(sum, ::testing::Each(static_cast<std::int32_t>(left.size())));
  EXPECT_EQ(ncclCommDestroy(again), ncclSuccess);
});

class HostFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(HostFaults, AKilledRankOfAnotherHostIsNamedByAllAndTheRestGoOn) {
  const Namespaces hosts(3);
  HostJob job(hosts, "loop",
              {.machines = {hostDevices(2), zoo("seed-a40x2"), hostDevices(1)},
               .hostOfRank = {0, 0, 1, 1, 2},
               .variables = {{"XYLEM_TEST_LOST_RANK", "3"}}});
  ASSERT_TRUE(job.reached("working"));
  job.kill(3);
  for (const int rank : {0, 1, 2, 4}) EXPECT_EQ(job.wait(rank, 15), 0) << "rank " << rank;
}

// Only its neighbours can notice it, by its silence, and only once an operation has taken too long.
TEST_F(HostFaults, ARankThatIsStoppedAloneOnItsHostIsNamedByAllAndTheRestGoOn) {
  const Namespaces hosts(5);
  HostJob job(hosts, "loop",
              {.machines = std::vector(5, hostDevices(1)),
               .hostOfRank = {0, 1, 2, 3, 4},
               .variables = {{"XYLEM_TEST_LOST_RANK", "2"}, {"XYLEM_OPERATION_TIMEOUT", "3"}}});
  ASSERT_TRUE(job.reached("working"));
  job.kill(2, SIGSTOP);
  for (const int rank : {0, 1, 3, 4})
    EXPECT_EQ(job.wait(rank, 30), 0) << "rank " << rank << "\n" << job.log(rank);
}

// A cut cable sends no goodbye: only silence shows it. Both sides of the cut go on by themselves.
TEST_F(HostFaults, ACutCableIsNoticedInTimeAndBothSidesGoOn) {
  const Namespaces hosts(3);
  HostJob job(hosts, "loop",
              {.machines = {hostDevices(2), hostDevices(2), zoo("gpu1-nic1")},
               .hostOfRank = {0, 0, 1, 1, 2},
               .variables = {{"XYLEM_TEST_LOST_HOST", "1"}, {"XYLEM_PEER_TIMEOUT", "3"}}});
  ASSERT_TRUE(job.reached("working"));
  hosts.cut(1);
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(job.wait(rank, 20), 0) << "rank " << rank;
}

}  // namespace
}  // namespace xylem
