// How tuner plugins of every version change the choice of algorithm, protocol and channels.

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "planner/plan/planner.h"
#include "planner/topology/detect.h"
#include "runtime/comm/checked_rank.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/plugins/tuner.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string tunerFile(int version) {
  return std::string(XYLEM_TEST_PLUGINS) + "/libnccl-tuner-test" + std::to_string(version) + ".so";
}

int living(int version) {
  const SharedLibrary library(tunerFile(version));
  auto* count = library.function<int()>("testTunersLiving");
  return count == nullptr ? -1 : count();
}

// Four host devices on one host.
const plan::Plan& fourRanks() {
  static const plan::Plan plan = [] {
    plan::PlanRequest request = plan::identicalHosts(topology::detectTopology({.hostDevices = 4}));
    request.rules = connect::Rules::kXylem;
    return plan::planJob(request, Settings());
  }();
  return plan;
}

class TunerOf : public ::testing::TestWithParam<int> {
 protected:
  static std::shared_ptr<const plugins::Tuner> load() {
    return plugins::findTuner(Settings::fromPairs({{"NCCL_TUNER_PLUGIN", tunerFile(GetParam())}}), {4, 1},
                              std::make_shared<const Logger>(Settings()));
  }
  static ChosenAlgorithm choose(std::size_t count) {
    Choices choices(fourRanks().tuning.front(), 4, load());
    CommOperation operation;
    operation.count = count;
    return choices.of(operation);
  }
};

TEST_P(TunerOf, WithoutAnOpinionTheModelDecides) {
  const Variables variables{};
  Choices untuned(fourRanks().tuning.front(), 4);
  for (const std::size_t count : {1u, 10'000u, 10'000'000u}) {
    CommOperation operation;
    operation.count = count;
    const ChosenAlgorithm &expected = untuned.of(operation), way = choose(count);
    EXPECT_EQ(way.algorithm, expected.algorithm);
    EXPECT_EQ(way.protocol, expected.protocol);
    EXPECT_EQ(way.channels, expected.channels);
  }
  EXPECT_EQ(living(GetParam()), 0);
}

TEST_P(TunerOf, WhatItPrefersIsTaken) {
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing})
    for (const Protocol protocol : kAllProtocols) {
      if (!fourRanks().tuning.front().usable(Collective::kAllReduce, algorithm, protocol)) continue;
      const Variables variables{{"TEST_TUNER_ALGORITHM", std::to_string(static_cast<int>(algorithm))},
                                {"TEST_TUNER_PROTOCOL", std::to_string(static_cast<int>(protocol))},
                                {"TEST_TUNER_CHANNELS", "3"}};
      const ChosenAlgorithm way = choose(1000);
      EXPECT_EQ(way.algorithm, algorithm);
      EXPECT_EQ(way.protocol, protocol);
      EXPECT_EQ(way.channels, 3);
    }
}

TEST_P(TunerOf, WhatCannotRunIsNotTakenAndMoreChannelsThanThereAreNeither) {
  const Variables variables{
      {"TEST_TUNER_ALGORITHM", "4"}, {"TEST_TUNER_PROTOCOL", "2"}, {"TEST_TUNER_CHANNELS", "1000"}};
  const ChosenAlgorithm way = choose(1000);
  EXPECT_NE(way.algorithm, Algorithm::kNvls);
  EXPECT_EQ(way.channels, 4);
}

TEST_P(TunerOf, AFailureLeavesTheChoiceToTheModel) {
  Choices untuned(fourRanks().tuning.front(), 4);
  CommOperation operation;
  operation.count = 1000;
  const ChosenAlgorithm expected = untuned.of(operation);
  const Variables variables{{"TEST_TUNER_RESULT", "5"}, {"TEST_TUNER_CHANNELS", "3"}};
  EXPECT_EQ(choose(1000).algorithm, expected.algorithm);
  EXPECT_EQ(choose(1000).channels, expected.channels);
}

TEST_P(TunerOf, WhatCannotStartFailsTheCommunicator) {
  const Variables variables{{"TEST_TUNER_INIT", "2"}, {"NCCL_TUNER_PLUGIN", tunerFile(GetParam())}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {
    EXPECT_NE(result.init, ncclSuccess);
    EXPECT_THAT(result.text, HasSubstr("tuner plugin Test of " + tunerFile(GetParam()) +
                                       ": init failed: system error (2)"));
  }
}

TEST_P(TunerOf, ACommunicatorComputesItsWay) {
  const Variables variables{{"TEST_TUNER_ALGORITHM", "0"},
                            {"TEST_TUNER_PROTOCOL", "2"},
                            {"NCCL_TUNER_PLUGIN", tunerFile(GetParam())}};
  expectAllJoined(runRanks(3, [](int rank, ncclComm_t comm) {
    CheckedRank self(rank, 3, comm);
    for (const std::size_t count : {1u, 1003u, 100'000u})
      self.run({Collective::kAllReduce, DataType::kInt32, 0, count});
  }));
  EXPECT_EQ(living(GetParam()), 0);
}

const RankRole kTunedRank("tuned-rank", [](int rank, int ranks, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

TEST_P(TunerOf, LearnsHowManyRanksDomainsHave) {
  const Variables variables{
      {"NCCL_TUNER_PLUGIN", tunerFile(GetParam())}, {"TEST_TUNER_FEWEST", "1"}, {"TEST_TUNER_MOST", "4"}};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::unique_ptr<RankProcess>> processes;
  for (int rank = 0; rank < 5; ++rank) {
    const Variables host{{"NCCL_HOSTID", rank == 0 ? "one" : "two"}};
    processes.push_back(std::make_unique<RankProcess>("tuned-rank", rank, 5, id));
  }
  for (const auto& process : processes) EXPECT_EQ(process->waitAtMost(60), 0);
}

const RankRole kTunedApart("tuned-apart", [](int rank, int ranks, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<float> data(100'000);
  ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr);
  EXPECT_NE(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_THAT(ncclGetLastError(comm),
              ::testing::AllOf(HasSubstr("do all ranks call the same operations"),
                               HasSubstr("Do their tuner plugins (NCCL_TUNER_PLUGIN) decide alike?")));
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

TEST_P(TunerOf, RanksWhoseTunersDifferGetThatCauseNamed) {
  const Variables variables{{"NCCL_TUNER_PLUGIN", tunerFile(GetParam())},
                            {"NCCL_MIN_NCHANNELS", "2"},
                            {"TEST_TUNER_ALGORITHM", "1"},
                            {"TEST_TUNER_PROTOCOL", "2"}};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::unique_ptr<RankProcess>> processes;
  for (const char* channels : {"1", "2"}) {
    const Variables choice{{"TEST_TUNER_CHANNELS", channels}};
    processes.push_back(
        std::make_unique<RankProcess>("tuned-apart", static_cast<int>(processes.size()), 2, id));
  }
  for (const auto& process : processes) EXPECT_EQ(process->waitAtMost(60), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, TunerOf, ::testing::Values(2, 3, 4, 5, 6),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

}  // namespace
}  // namespace xylem::comm
