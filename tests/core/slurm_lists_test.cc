// Slurm's compressed lists.

#include "core/slurm_lists.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

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
