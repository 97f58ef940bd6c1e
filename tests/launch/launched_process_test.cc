// What launchers' variables say about a process.

#include "launch/launched_process.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "launch/slurm_lists.h"
#include "launch/variables.h"

namespace xylem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  // torchrun below mpirun, mpirun inside of an allocation.
  const Variables torch = {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "none"}};
  EXPECT_EQ(processIn(with(kOpenMpi, torch))->variable, "RANK");
  EXPECT_EQ(processIn(with(kSlurm, kOpenMpi))->variable, "OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(processIn(with(kSlurm, kHydra))->variable, "PMI_RANK");
}

TEST(LaunchedProcess, OthersAreLeftAlone) {
  EXPECT_FALSE(processIn({}));
  EXPECT_FALSE(processIn({{"RANK", "3"}})) << "anybody may have a RANK";
  EXPECT_FALSE(processIn({{"RANK", "three"}, {"WORLD_SIZE", "8"}}));
  EXPECT_FALSE(processIn({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})) << "a shell by salloc";
}

TEST(LaunchedProcess, WhoSaysNothingAboutHostsHasOne) {
  const auto process = processIn({{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(process->localSize, 8);
  EXPECT_FALSE(process->knowsHost);
}

TEST(LaunchedProcess, ContradictionsAreNamed) {
  try {
    processIn({{"RANK", "8"}, {"WORLD_SIZE", "8"}});
    FAIL() << "rank 8 of 8";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("RANK"), HasSubstr("8 with WORLD_SIZE=8")));
  }
}

TEST(SlurmLists, TheFirstHostIsFound) {
  EXPECT_EQ(firstSlurmHost("node7"), "node7");
  EXPECT_EQ(firstSlurmHost("login1,node[1-3]"), "login1");
  EXPECT_EQ(firstSlurmHost("node[007-012,020],other"), "node007");
  EXPECT_EQ(firstSlurmHost("rack[2,4]-[03-04]x"), "rack2-03x");
  EXPECT_EQ(firstSlurmHost(""), "");
  EXPECT_EQ(firstSlurmHost("node[1"), "");
}

TEST(SlurmLists, TasksAreCountedNodeByNode) {
  EXPECT_EQ(slurmTasksOn("4", 0), 4);
  EXPECT_EQ(slurmTasksOn("4(x2),1", 1), 4);
  EXPECT_EQ(slurmTasksOn("4(x2),1", 2), 1);
  EXPECT_EQ(slurmTasksOn("4(x2),1", 3), std::nullopt);
  EXPECT_EQ(slurmTasksOn("4(x,1", 0), std::nullopt);
  EXPECT_EQ(slurmTasksOn("four", 0), std::nullopt);
}

}  // namespace
}  // namespace xylem
