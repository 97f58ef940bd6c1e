// The method that a job's processes choose for their rendezvous.

#include "runtime/launch/rendezvous_method.h"

#include <gmock/gmock.h>

#include <regex>

#include "runtime/launch/unusual_port.h"
#include "runtime/launch/variables.h"

namespace xylem::launch {
namespace {

using ::testing::HasSubstr;

RendezvousMethod methodIn(const Variables& variables) {
  const Environment environment = environmentOf(variables);
  return rendezvousMethod(*launchedProcess(environment), environment);
}

TEST(RendezvousMethod, WhatSomebodySaidGoesFirst) {
  const Variables said = {{"NCCL_COMM_ID", "n1:9999"}};
  for (const Variables& launcher : {kOpenMpi, kHydra, kTorchrun, kSlurm})
    EXPECT_EQ(methodIn(with(launcher, said)).kind, RendezvousMethod::kGiven);
  EXPECT_EQ(methodIn({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).kind, RendezvousMethod::kAlone);
}

TEST(RendezvousMethod, TheLaunchersStoreServesItsOwnRanks) {
  const Variables pmi = {{"PMI_FD", "6"}};
  EXPECT_EQ(methodIn(with(kHydra, pmi)).kind, RendezvousMethod::kPmi);
  EXPECT_EQ(methodIn(with(kSlurm, pmi)).kind, RendezvousMethod::kPmi);
  EXPECT_EQ(methodIn(with(kTorchrun, pmi)).kind, RendezvousMethod::kAddress) << "torchrun below mpiexec";
}

TEST(RendezvousMethod, OnOneHostTheJobsNameIsEnough) {
  const Variables oneHost = {{"LOCAL_WORLD_SIZE", "8"}, {"TORCHELASTIC_RESTART_COUNT", "1"}};
  const RendezvousMethod torch = methodIn(with(kTorchrun, oneHost));
  EXPECT_EQ(torch.kind, RendezvousMethod::kLocal);
  EXPECT_EQ(torch.name, "MASTER_ADDR=n1 MASTER_PORT=29500 TORCHELASTIC_RESTART_COUNT=1");
  const RendezvousMethod slurm =
      methodIn(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "8"}, {"SLURM_NODEID", "0"}}));
  EXPECT_EQ(slurm.kind, RendezvousMethod::kLocal);
  EXPECT_EQ(slurm.name, "SLURM_JOB_ID=4711 SLURM_STEP_ID=2");
  const RendezvousMethod openMpi = methodIn(
      with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}, {"OMPI_MCA_ess_base_jobid", "770310145"}}));
  EXPECT_EQ(openMpi.kind, RendezvousMethod::kLocal);
}

TEST(RendezvousMethod, AcrossHostsTheAddressFollowsFromWhatAllKnow) {
  EXPECT_EQ(methodIn(kTorchrun).name, "n1:29501") << "torchrun's own store has the port itself";
  EXPECT_EQ(methodIn(with(kTorchrun, {{"MASTER_ADDR", "fd13::1"}})).name, "[fd13::1]:29501");
  EXPECT_EQ(methodIn(with(kTorchrun, {{"MASTER_PORT", "65535"}})).name, "n1:65534");
  // Started by hand: no variable tells the number of processes on the host.
  EXPECT_EQ(methodIn({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "80"}}).kind,
            RendezvousMethod::kAddress);

  const RendezvousMethod slurm = methodIn(kSlurm);
  EXPECT_EQ(slurm.kind, RendezvousMethod::kAddress);
  EXPECT_TRUE(std::regex_match(slurm.name, std::regex("n01:2[0-9]{4}|n01:3[01][0-9]{3}"))) << slurm.name;
  EXPECT_EQ(methodIn(with(kSlurm, {{"SLURM_PROCID", "7"}})).name, slurm.name);
  EXPECT_NE(methodIn(with(kSlurm, {{"SLURM_STEP_ID", "3"}})).name, slurm.name);
  EXPECT_NE(methodIn(with(kSlurm, {{"SLURM_JOB_ID", "4712"}})).name, slurm.name);
}

TEST(RendezvousMethod, SomebodyOnTheHostOfTheAddressListens) {
  EXPECT_TRUE(methodIn(with(kTorchrun, {{"RANK", "0"}})).listens);
  EXPECT_FALSE(methodIn(with(kTorchrun, {{"RANK", "1"}, {"LOCAL_RANK", "0"}})).listens);
  // srun --distribution=arbitrary puts process 0 anywhere.
  const Variables firstHost = {{"SLURM_NODEID", "0"}};
  EXPECT_TRUE(methodIn(with(kSlurm, with(firstHost, {{"SLURM_LOCALID", "0"}}))).listens);
  EXPECT_FALSE(methodIn(with(kSlurm, firstHost)).listens);
  EXPECT_FALSE(methodIn(with(kSlurm, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}})).listens);
}

TEST(RendezvousMethod, WithoutAnythingThereIsNone) {
  EXPECT_EQ(methodIn(kOpenMpi).kind, RendezvousMethod::kNone);
  EXPECT_EQ(methodIn({{"RANK", "1"}, {"WORLD_SIZE", "2"}}).kind, RendezvousMethod::kNone);
  EXPECT_EQ(methodIn(with(kTorchrun, {{"MASTER_PORT", "0"}})).kind, RendezvousMethod::kNone);
}

TEST(UnusualPort, StaysBelowThoseOfOutgoingConnections) {
  for (const std::uint64_t number : {0ull, 11999ull, 12000ull, ~0ull}) {
    EXPECT_GE(unusualPort(number), 20000);
    EXPECT_LT(unusualPort(number), 32000);
  }
}

}  // namespace
}  // namespace xylem::launch
