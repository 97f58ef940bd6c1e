// Which way a job's processes choose to meet.

#include "runtime/launch/meeting_way.h"

#include <gmock/gmock.h>

#include <regex>

#include "runtime/launch/unusual_port.h"
#include "runtime/launch/variables.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;

MeetingWay wayIn(const Variables& variables) {
  const Environment environment = environmentOf(variables);
  return meetingWay(*launchedProcess(environment), environment);
}

TEST(MeetingWay, WhatSomebodySaidGoesFirst) {
  const Variables said = {{"NCCL_COMM_ID", "n1:9999"}};
  for (const Variables& launcher : {kOpenMpi, kHydra, kTorchrun, kSlurm})
    EXPECT_EQ(wayIn(with(launcher, said)).kind, MeetingWay::kGiven);
  EXPECT_EQ(wayIn({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).kind, MeetingWay::kAlone);
}

TEST(MeetingWay, TheLaunchersStoreServesItsOwnRanks) {
  const Variables pmi = {{"PMI_FD", "6"}};
  EXPECT_EQ(wayIn(with(kHydra, pmi)).kind, MeetingWay::kPmi);
  EXPECT_EQ(wayIn(with(kSlurm, pmi)).kind, MeetingWay::kPmi);
  EXPECT_EQ(wayIn(with(kTorchrun, pmi)).kind, MeetingWay::kAddress) << "torchrun below mpiexec";
}

TEST(MeetingWay, OnOneHostTheJobsNameIsEnough) {
  const Variables oneHost = {{"LOCAL_WORLD_SIZE", "8"}, {"TORCHELASTIC_RESTART_COUNT", "1"}};
  const MeetingWay torch = wayIn(with(kTorchrun, oneHost));
  EXPECT_EQ(torch.kind, MeetingWay::kLocal);
  EXPECT_EQ(torch.name, "MASTER_ADDR=n1 MASTER_PORT=29500 TORCHELASTIC_RESTART_COUNT=1");
  const MeetingWay slurm = wayIn(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "8"}, {"SLURM_NODEID", "0"}}));
  EXPECT_EQ(slurm.kind, MeetingWay::kLocal);
  EXPECT_EQ(slurm.name, "SLURM_JOB_ID=4711 SLURM_STEP_ID=2");
  const MeetingWay openMpi =
      wayIn(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}, {"OMPI_MCA_ess_base_jobid", "770310145"}}));
  EXPECT_EQ(openMpi.kind, MeetingWay::kLocal);
}

TEST(MeetingWay, AcrossHostsTheAddressFollowsFromWhatAllKnow) {
  EXPECT_EQ(wayIn(kTorchrun).name, "n1:29501") << "torchrun's own store has the port itself";
  EXPECT_EQ(wayIn(with(kTorchrun, {{"MASTER_ADDR", "fd13::1"}})).name, "[fd13::1]:29501");
  EXPECT_EQ(wayIn(with(kTorchrun, {{"MASTER_PORT", "65535"}})).name, "n1:65534");
  // By hand, where nobody counts the processes of a host.
  EXPECT_EQ(wayIn({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "80"}}).kind,
            MeetingWay::kAddress);

  const MeetingWay slurm = wayIn(kSlurm);
  EXPECT_EQ(slurm.kind, MeetingWay::kAddress);
  EXPECT_TRUE(std::regex_match(slurm.name, std::regex("n01:2[0-9]{4}|n01:3[01][0-9]{3}"))) << slurm.name;
  EXPECT_EQ(wayIn(with(kSlurm, {{"SLURM_PROCID", "7"}})).name, slurm.name);
  EXPECT_NE(wayIn(with(kSlurm, {{"SLURM_STEP_ID", "3"}})).name, slurm.name);
  EXPECT_NE(wayIn(with(kSlurm, {{"SLURM_JOB_ID", "4712"}})).name, slurm.name);
}

TEST(MeetingWay, SomebodyOnTheHostOfTheAddressListens) {
  EXPECT_TRUE(wayIn(with(kTorchrun, {{"RANK", "0"}})).listens);
  EXPECT_FALSE(wayIn(with(kTorchrun, {{"RANK", "1"}, {"LOCAL_RANK", "0"}})).listens);
  // srun --distribution=arbitrary puts process 0 anywhere.
  const Variables firstHost = {{"SLURM_NODEID", "0"}};
  EXPECT_TRUE(wayIn(with(kSlurm, with(firstHost, {{"SLURM_LOCALID", "0"}}))).listens);
  EXPECT_FALSE(wayIn(with(kSlurm, firstHost)).listens);
  EXPECT_FALSE(wayIn(with(kSlurm, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}})).listens);
}

TEST(MeetingWay, WithoutAnythingThereIsNone) {
  EXPECT_EQ(wayIn(kOpenMpi).kind, MeetingWay::kNone);
  EXPECT_EQ(wayIn({{"RANK", "1"}, {"WORLD_SIZE", "2"}}).kind, MeetingWay::kNone);
  EXPECT_EQ(wayIn(with(kTorchrun, {{"MASTER_PORT", "0"}})).kind, MeetingWay::kNone);
}

TEST(UnusualPort, StaysBelowThoseOfOutgoingConnections) {
  for (const std::uint64_t number : {0ull, 11999ull, 12000ull, ~0ull}) {
    EXPECT_GE(unusualPort(number), 20000);
    EXPECT_LT(unusualPort(number), 32000);
  }
}

}  // namespace
}  // namespace xylem
