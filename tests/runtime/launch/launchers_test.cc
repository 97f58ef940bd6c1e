// The same two programs under every launcher that is installed, on this host.

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/launch/shell.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// `launcher` starts 3 processes.
void expectBothRun(const std::string& launcher) {
  const Ended perf = shell(kTimeLimit + launcher + " " + kPerf);
  EXPECT_EQ(perf.status, 0) << perf.output;
  EXPECT_THAT(perf.output, AllOf(HasSubstr("Rank  2 Group  0"), HasSubstr("Out of bounds values : 0 OK")));
  const Ended program = shell(kTimeLimit + launcher + " " + kProgram);
  EXPECT_EQ(program.status, 0) << program.output;
  EXPECT_THAT(program.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

// Open MPI by default refuses to run as root, or with more processes than cores.
constexpr const char* kOpenMpi =
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe --bind-to "
    "none -n 3";

TEST(Launchers, OpenMpi) {
  NEEDS("mpirun.openmpi");
  expectBothRun(kOpenMpi);
}

TEST(Launchers, PmixAlone) {
  NEEDS("mpirun.openmpi");
  // The variables that prun and others set: rank and size only through PMIx.
  const Ended ended = shell(kTimeLimit + std::string(kOpenMpi) + " env -u OMPI_COMM_WORLD_RANK " + kProgram);
  if (ended.output.find("libpmix.so.2 cannot be loaded") != std::string::npos) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

TEST(Launchers, Mpich) {
  NEEDS("mpiexec.mpich");
  expectBothRun("mpiexec.mpich -n 3");
  // Its store serves a process once: a second program in the same process needs NCCL_COMM_ID.
  const Ended twice = shell(kTimeLimit + ("mpiexec.mpich -n 2 sh -c '" + kProgram + "; " + kProgram + "'"));
  EXPECT_THAT(twice.output,
              AllOf(HasSubstr("over 2 ranks: 1, right"), HasSubstr("set NCCL_COMM_ID=host:port")));
}

TEST(Launchers, Torchrun) {
  NEEDS("torchrun");
  std::string folder = (std::filesystem::temp_directory_path() / "xylem-torchrun-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  // torch 1.13 finds no redirection of both, and none of neither, under Python 3.11.
  const Ended ended = shell(kTimeLimit + ("torchrun --nproc_per_node 3 --no_python -r 1 -t 1 --log_dir " +
                                          folder + " " + kProgram));
  std::filesystem::remove_all(folder);
  if (ended.output.find("PyTorch was build without libuv") != std::string::npos)
    GTEST_SKIP()
        << "torchrun cannot start here: Debian 13 builds torch 2.6 without libuv, which its torchrun needs";
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

// A shell in the place of a launcher starts all processes at once.
Ended inVariables(const std::string& variables) {
  return shell(kTimeLimit + ("sh -c 'for r in 0 1 2; do export r; " + variables + " " + kProgram +
                             " & pids=\"$pids $!\"; done; for p in $pids; do wait $p || exit 1; done'"));
}

TEST(Launchers, SlurmsVariables) {
  const std::string step =
      "SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=3 SLURM_SRUN_COMM_PORT=1 SLURM_STEP_NODELIST=localhost "
      "SLURM_STEP_ID=0 "
      "SLURM_JOB_ID=" +
      std::to_string(getpid());
  const Ended oneHost = inVariables("SLURM_LOCALID=$r SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3 " + step);
  EXPECT_EQ(oneHost.status, 0) << oneHost.output;
  EXPECT_THAT(oneHost.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
  const Ended threeHosts = inVariables(
      "SLURM_LOCALID=0 SLURM_NODEID=$r NCCL_HOSTID=$r SLURM_STEP_TASKS_PER_NODE=\"1(x3)\" " + step);
  EXPECT_EQ(threeHosts.status, 0) << threeHosts.output;
  EXPECT_THAT(threeHosts.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
  const Ended backwards = inVariables(
      "SLURM_LOCALID=0 SLURM_NODEID=$((2-r)) NCCL_HOSTID=$r SLURM_STEP_TASKS_PER_NODE=\"1(x3)\" " + step);
  EXPECT_EQ(backwards.status, 0) << backwards.output;
  EXPECT_THAT(backwards.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

TEST(Launchers, XylemRun) {
  const Ended ended = shell(kTimeLimit + std::string(XYLEM_COMMAND " run -n 3 -- ") + kProgram);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(ended.output, "[0] all_reduce over 3 ranks: 3, right\n");
}

}  // namespace
}  // namespace xylem::testing
