// From ranks that describe themselves to one plan: the first of a host searches for all that would find the
// same.

#include "runtime/comm/join/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bootstrap/job.h"
#include "planner/plan/plan_json.h"

namespace xylem {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using testing::Job;

constexpr int kRanks = 5;

struct Outcome {
  bool told = false;       // channels that another rank has searched
  std::uint64_t hash = 0;  // of the plan
  std::string json;        // of the plan
  std::string alone;       // of that of a rank that searches itself
};

// `settingsOf`: by rank.
std::vector<Outcome> planOn(const std::function<Settings(int)>& settingsOf) {
  std::vector<Outcome> outcomes(kRanks);
  Job job(kRanks);
  job.run([&](Bootstrap& bootstrap) {
    const Settings settings = settingsOf(bootstrap.rank());
    const auto peers = bootstrap.allGather(describePeer(settings, bootstrap.rank(), 0));
    JobHosts hosts = describeHosts(bootstrap, peers, settings, RankDevices{});
    Outcome& mine = outcomes[static_cast<std::size_t>(bootstrap.rank())];
    mine.told = hosts.searched.front() != nullptr;
    const Plan plan = planOf(hosts, settings);
    mine.hash = hashOf(plan);
    mine.json = planToJson(plan);
    hosts.searched.front() = nullptr;
    mine.alone = planToJson(planOf(hosts, settings));
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

// Otherwise nobody would notice that the ranks do not mean the same.
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

}  // namespace
}  // namespace xylem
