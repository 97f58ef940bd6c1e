// Reading a process's rank and size from the variables of each launcher.

#include "runtime/launch/launched_process.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "runtime/launch/variables.h"

namespace xylem::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::optional<LaunchedProcess> processIn(const Variables& variables) {
  return launchedProcess(environmentOf(variables));
}

TEST(LaunchedProcess, LaunchersAreRecognized) {
  const std::pair<Variables, const char*> launchers[] = {{kOpenMpi, "OMPI_COMM_WORLD_RANK"},
                                                         {kHydra, "PMI_RANK"},
                                                         {kTorchrun, "RANK"},
                                                         {kSlurm, "SLURM_PROCID"}};
  for (const auto& [variables, name] : launchers) {
    const auto process = processIn(variables);
    ASSERT_TRUE(process.has_value()) << name;
    EXPECT_EQ(process->variable, name);
    EXPECT_EQ(process->rank, 3) << name;
    EXPECT_EQ(process->size, 8) << name;
    EXPECT_EQ(process->localRank, 1) << name;
    EXPECT_EQ(process->localSize, 2) << name;
    EXPECT_TRUE(process->knowsHost) << name;
  }
}

TEST(LaunchedProcess, TheInnerLauncherCounts) {
  // torchrun below mpirun; mpirun inside of a Slurm allocation.
  const Variables torch = {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "none"}};
  EXPECT_EQ(processIn(with(kOpenMpi, torch))->variable, "RANK");
  EXPECT_EQ(processIn(with(kSlurm, kOpenMpi))->variable, "OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(processIn(with(kSlurm, kHydra))->variable, "PMI_RANK");
}

TEST(LaunchedProcess, SlurmKnowsTheHostAndPmiDoesNot) {
  // srun --mpi=pmi2
  const auto process = processIn(with(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"PMI_FD", "6"}}));
  EXPECT_EQ(process->variable, "SLURM_PROCID");
  EXPECT_EQ(process->localRank, 1);
  const auto other = processIn({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"PMI_FD", "6"}});
  EXPECT_EQ(other->variable, "PMI_RANK");
  EXPECT_FALSE(other->knowsHost);
}

TEST(LaunchedProcess, OthersAreLeftAlone) {
  EXPECT_FALSE(processIn({}));
  EXPECT_FALSE(processIn({{"RANK", "3"}})) << "anybody may have a RANK";
  EXPECT_FALSE(processIn({{"RANK", "3"}, {"WORLD_SIZE", ""}}));
  EXPECT_FALSE(processIn({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})) << "a shell by salloc";
}

TEST(LaunchedProcess, WhoSaysNothingAboutHostsHasOne) {
  const auto process = processIn({{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(process->localSize, 8);
  EXPECT_FALSE(process->knowsHost);
}

std::string refusalOf(const Variables& variables) {
  try {
    processIn(variables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LaunchedProcess, ContradictionsAreNamed) {
  EXPECT_THAT(refusalOf({{"RANK", "8"}, {"WORLD_SIZE", "8"}}),
              AllOf(HasSubstr("RANK"), HasSubstr("8 with WORLD_SIZE=8")));
}

TEST(LaunchedProcess, WhatIsNoNumberIsNamed) {
  EXPECT_THAT(refusalOf({{"RANK", "three"}, {"WORLD_SIZE", "8"}}), StartsWith("RANK: found `three`"));
  EXPECT_THAT(refusalOf({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "x"}}),
              StartsWith("OMPI_COMM_WORLD_SIZE: found `x`; expected a whole number"));
}

}  // namespace
}  // namespace xylem::launch
