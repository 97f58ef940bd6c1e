// Joining, from ranks that describe themselves to one plan: hosts and cores as ranks know them, and the first rank
// of a host, which searches for all ranks that would find the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "planner/plan/plan_json.h"
#include "runtime/bootstrap/job.h"
#include "runtime/comm/join/comm_plan.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/comm/join/join_steps.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/comm/watch/peer_watch.h"

namespace xylem::comm {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;

TEST(Interfaces, ThatDifferOnOneHostAreNamed) {
  const auto at = [](const char* address) { return sockets::SocketAddress::parse(address); };
  EXPECT_EQ(differingInterfaces({0, 1}, {at("10.0.0.1:4711"), at("10.0.0.1:4712")}), "");
  EXPECT_THAT(
      differingInterfaces({4, 5, 6}, {at("10.0.0.1:4711"), at("127.0.0.1:1"), at("10.0.0.1:2")}),
      AllOf(HasSubstr("ranks 4, 6 at 10.0.0.1, rank 5 at 127.0.0.1;"), HasSubstr("NCCL_SOCKET_IFNAME")));
  EXPECT_THAT(differingInterfaces({0, 1}, {at("[::1]:4711"), at("127.0.0.1:4711")}),
              HasSubstr("rank 0 at ::1"));
}

constexpr int kRanks = 5;

struct Outcome {
  bool told = false;       // the rank got channels that another one has searched
  std::uint64_t hash = 0;  // of the plan
  plan::Json json;         // the plan
  plan::Json alone;        // the plan that the rank makes if it searches itself
};

// `settingsOf`: by rank.
std::vector<Outcome> planOn(const std::function<Settings(int)>& settingsOf) {
  std::vector<Outcome> outcomes(kRanks);
  Job job(kRanks);
  job.run([&](bootstrap::Bootstrap& bootstrap) {
    const Settings settings = settingsOf(bootstrap.rank());
    const JobRoster roster =
        rosterOf(bootstrap.rank(), bootstrap.allGather(describePeer(settings, bootstrap.rank(), 0)));
    PeerWatch watch;
    InitTimer timer;
    const Logger log{settings};
    JoinSteps steps(bootstrap, watch, timer, log);
    DescribedHosts hosts = describeHosts(steps, bootstrap, roster, settings, RankDevices{});
    Outcome& mine = outcomes[static_cast<std::size_t>(bootstrap.rank())];
    mine.told = hosts.searched.front() != nullptr;
    const plan::Plan plan = planOf(hosts, settings);
    mine.hash = hashOf(plan);
    mine.json = plan::toJson(plan);
    hosts.searched.front() = nullptr;
    mine.alone = plan::toJson(planOf(hosts, settings));
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
  return outcomes;
}

TEST(JobPlan, IsTheSameWhoeverSearched) {
  for (const Outcome& outcome : planOn([](int) { return Settings(); })) {
    EXPECT_TRUE(outcome.told);
    EXPECT_EQ(outcome.json, outcome.alone);
  }
}

// Otherwise ranks with different settings would use different plans without an error.
TEST(JobPlan, RanksOfOtherSettingsSearchThemselves) {
  const auto outcomes = planOn([](int rank) {
    Settings settings;
    if (rank == 2) settings.set(spec(Setting::kMinNChannels), "8", "test");
    return settings;
  });
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].told, rank != 2) << rank;
  EXPECT_EQ(outcomes[0].hash, outcomes[4].hash);
  std::vector<std::uint64_t> hashes;
  for (const Outcome& outcome : outcomes) hashes.push_back(outcome.hash);
  EXPECT_NE(outcomes[0].hash, outcomes[2].hash);
  EXPECT_THROW(checkSamePlan(hashes), Error);
}

TEST(JobRoster, RanksThatPlanByRulesOfDifferentVersionsDoNotJoin) {
  Job job(3);
  job.run([&](bootstrap::Bootstrap& bootstrap) {
    PeerWatch watch;
    InitTimer timer;
    const Logger log{Settings()};
    JoinSteps steps(bootstrap, watch, timer, log);
    const Settings settings =
        Settings::fromPairs({{"XYLEM_NCCL", bootstrap.rank() == 1 ? "2.27.7" : "2.30.7"}});
    steps.run(InitPart::kAllGathers, "gathering", [&] {
      return rosterOf(bootstrap.rank(), bootstrap.allGather(describePeer(settings, bootstrap.rank(), 0)));
    });
  });
  ASSERT_EQ(job.errors().size(), 3U);
  EXPECT_THAT(job.errors(),
              Each(HasSubstr("rank 0 plans by the rules of NCCL 2.30.7, rank 1 by those of 2.27.7: "
                             "set XYLEM_NCCL to one version")));
}

// A release between two known ones is planned by the rules of its series.
TEST(JobRoster, RanksJoinIfTheirVersionsHaveTheSameRules) {
  const PeerInfo one = describePeer(Settings::fromPairs({{"XYLEM_NCCL", "2.27"}}), 0, 0);
  const PeerInfo two = describePeer(Settings::fromPairs({{"XYLEM_NCCL", "2.27.3"}}), 1, 1);
  EXPECT_EQ(one.rules, 22707);
  EXPECT_NO_THROW(checkVersions(std::vector{one, two}));
}

TEST(JobRoster, RanksOfDifferentLibrariesDoNotJoin) {
  std::vector<PeerInfo> peers{describePeer(Settings(), 0, 0), describePeer(Settings(), 1, 1)};
  peers[0].library = 23007;
  peers[1].library = 22903;
  try {
    checkVersions(peers);
    FAIL() << "the ranks joined";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 0 has version 2.30.7 of the library, rank 1 has 2.29.3"));
  }
}

// Adds ranks of one host, one per mask of cores.
void addRanks(std::vector<PeerInfo>& peers, std::uint64_t host, std::initializer_list<unsigned long> masks) {
  for (const unsigned long mask : masks) {
    PeerInfo& info = peers.emplace_back();
    info.peer.hostHash = host;
    info.peer.rank = static_cast<int>(peers.size()) - 1;
    info.cores = device::CoreSet(mask);
  }
}

HostCores coresOf(std::initializer_list<unsigned long> masks) {
  std::vector<PeerInfo> peers;
  addRanks(peers, 1, masks);
  return coresOfHosts(peers, hostMapOf(peers, 0)).front();
}

TEST(HostCores, AreSharedByRanksThatMayUseAnyOfThem) {
  EXPECT_EQ(coresOf({0b11, 0b11}).perRank, 1);
  EXPECT_FALSE(coresOf({0b11, 0b11}).oversubscribed);
  EXPECT_EQ(coresOf({0b1111, 0b1111}).perRank, 2);
  EXPECT_TRUE(coresOf({0b11, 0b11, 0b11}).oversubscribed);
  EXPECT_EQ(coresOf({0b11, 0b11, 0b11}).perRank, 1);
}

TEST(HostCores, OfRanksThatAreBoundAreAllThatTheyHave) {
  EXPECT_FALSE(coresOf({0b01, 0b10}).oversubscribed) << "a core each";
  EXPECT_EQ(coresOf({0b0011, 0b1100}).perRank, 2);
  EXPECT_TRUE(coresOf({0b01, 0b01}).oversubscribed);
  EXPECT_TRUE(coresOf({0b0001, 0b0001, 0b1110}).oversubscribed) << "others' free cores do not help";
}

struct Limited {
  std::uint32_t quota = 0, group = 1;
};

// The cores of ranks that may run on any of 64, as far as quotas let them.
HostCores coresWithin(const std::vector<Limited>& ranks) {
  std::vector<PeerInfo> peers;
  for (const Limited& limited : ranks) {
    addRanks(peers, 1, {~0UL});
    peers.back().quota = limited.quota;
    peers.back().quotaGroup = limited.group;
  }
  return coresOfHosts(peers, hostMapOf(peers, 0)).front();
}

TEST(HostCores, AreNoMoreThanTheQuota) {
  const auto ranks = [](std::size_t count, std::uint32_t quota) {
    return coresWithin(std::vector<Limited>(count, Limited{quota}));
  };
  EXPECT_EQ(ranks(8, 0).perRank, 8) << "there is none";
  EXPECT_TRUE(ranks(8, 2000).oversubscribed);
  EXPECT_EQ(ranks(8, 2000).perRank, 1);
  EXPECT_TRUE(ranks(8, 7999).oversubscribed);
  EXPECT_FALSE(ranks(8, 8000).oversubscribed);
  EXPECT_EQ(ranks(8, 23999).perRank, 2);
  EXPECT_EQ(ranks(8, 1000000).perRank, 8) << "more than there are";
  EXPECT_EQ(ranks(8, ~std::uint32_t{0}).perRank, 8);
  EXPECT_TRUE(ranks(1, 1).oversubscribed);
}

TEST(HostCores, HaveTheLeastQuotaThatOneOfTheirRanksSees) {
  EXPECT_EQ(coresWithin({{12000}, {12000}, {6000}}).perRank, 2);
  EXPECT_FALSE(coresWithin({{0}, {0}, {2000}}).oversubscribed) << "the others have no quota";
}

TEST(HostCores, HaveTheQuotaOfEachContainerForItsRanks) {
  EXPECT_EQ(coresWithin({{3000, 1}, {3000, 2}, {3000, 3}, {3000, 4}}).perRank, 3);
  EXPECT_EQ(coresWithin({{6000, 1}, {6000, 1}, {4000, 2}}).perRank, 3);
  EXPECT_TRUE(coresWithin({{1000, 1}, {1000, 1}, {0, 2}}).oversubscribed);
}

TEST(HostCores, OfADescriptionAreTheThreadsAndTheQuotaOfItsGroups) {
  const PeerInfo info = describePeer(Settings(), 0, 0);
  const std::optional<device::CoreQuota> quota = device::coreQuota();
  EXPECT_EQ(info.cores, device::coreSet());
  EXPECT_EQ(info.quota, quota ? static_cast<std::uint32_t>(quota->cores * 1000) : 0);
}

TEST(HostCores, AreEachHostsOwn) {
  std::vector<PeerInfo> peers;
  addRanks(peers, 7, {0b11, 0b11});
  addRanks(peers, 8, {0b1, 0b1});
  const std::vector<HostCores> hosts = coresOfHosts(peers, hostMapOf(peers, 3));
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_FALSE(hosts[0].oversubscribed);
  EXPECT_TRUE(hosts[1].oversubscribed);
}

TEST(InitTimer, NamesTheLongestStepOfALongStart) {
  InitTimer timer;
  timer.lap(InitPart::kBootstrap, "meeting the other ranks");
  EXPECT_EQ(timer.longestStep(), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  timer.lap(InitPart::kTopology, "describing the hosts");
  timer.lap(InitPart::kGraphs, "planning");
  EXPECT_THAT(timer.longestStep(),
              ::testing::MatchesRegex("describing the hosts took 1\\.[0-9]+ s of 1\\.[0-9]+ s"));
}

TEST(InitTimer, HasAPartOfItsOwnForMeasuringCopiesIfThatTookTime) {
  InitTimer timer;
  timer.lap(InitPart::kTopology, "describing the hosts");
  EXPECT_THAT(timer.text(), ::testing::Not(HasSubstr("copies")));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  timer.lap(InitPart::kCopies, "measuring how data moves");
  EXPECT_THAT(timer.text(), ::testing::ContainsRegex("connections 0.00, copies [0-9.]+, rest [0-9.]+"));
}

TEST(JoinSteps, TellTheOtherRanksWhyOneFailed) {
  Job job(2);
  job.run([&](bootstrap::Bootstrap& bootstrap) {
    PeerWatch watch;
    InitTimer timer;
    const Logger log{Settings()};
    JoinSteps steps(bootstrap, watch, timer, log);
    EXPECT_EQ(steps.run(InitPart::kGraphs, "a step", [] { return 3; }), 3);
    steps.run(InitPart::kAllGathers, "an outer step", [&] {
      steps.run(InitPart::kAllGathers, "an inner step", [&] {
        if (bootstrap.rank() == 1) throw Error(ResultCode::kInvalidUsage, "there is no plan");
        bootstrap.barrier();
      });
    });
  });
  ASSERT_EQ(job.errors().size(), 2U);
  EXPECT_THAT(job.errors()[0], HasSubstr("rank 1 failed: there is no plan"));
  EXPECT_THAT(job.errors()[1], HasSubstr("there is no plan"));
}

}  // namespace
}  // namespace xylem::comm
