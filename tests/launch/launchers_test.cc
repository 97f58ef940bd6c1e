// The same two programs under every launcher that is installed: `xylem perf`, and an NCCL program that knows
// only of xylem/launch.h. Launchers are strangers' programs: sanitizers see what is theirs, so only plain
// builds run them.

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "support/sanitizers.h"

namespace xylem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::kSanitized;

const std::string kPerf = XYLEM_COMMAND " perf all_reduce -b 4K -e 4K -n 2 -w 1";
const std::string kProgram = XYLEM_LAUNCHED_PROGRAM;
constexpr const char* kTimeLimit = "timeout -k 5 100 ";  // ends the launcher, which ends its ranks

struct Ended {
  int status;
  std::string output;
};

// Without the variables of a launcher that runs these tests; what it writes comes together.
Ended shell(const std::string& line) {
  const std::string all =
      "exec 2>&1; unset $(env | sed -n 's/^\\(\\(NCCL\\|XYLEM\\|SLURM\\|PMI\\|PMIX\\|OMPI\\)_[A-Z0-9_]*\\|"
      "RANK\\|WORLD_SIZE\\)=.*/\\1/p'); export NCCL_SOCKET_IFNAME=lo XYLEM_TIMEOUT=90; " +
      line;
  std::FILE* pipe = popen(all.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

bool isInstalled(const std::string& program) { return shell("command -v " + program).status == 0; }

#define NEEDS(program)                                                     \
  if (kSanitized) GTEST_SKIP() << program " is not built with sanitizers"; \
  if (!isInstalled(program)) GTEST_SKIP() << program " is not installed"

// `launcher` starts 3 processes.
void expectBothRun(const std::string& launcher) {
  const Ended perf = shell(kTimeLimit + launcher + " " + kPerf);
  EXPECT_EQ(perf.status, 0) << perf.output;
  EXPECT_THAT(perf.output, AllOf(HasSubstr("Rank  2 Group  0"), HasSubstr("Out of bounds values : 0 OK")));
  const Ended program = shell(kTimeLimit + launcher + " " + kProgram);
  EXPECT_EQ(program.status, 0) << program.output;
  EXPECT_THAT(program.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

// Open MPI does not like root, nor more processes than cores.
constexpr const char* kOpenMpi =
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe --bind-to "
    "none -n 3";

TEST(Launchers, OpenMpi) {
  NEEDS("mpirun.openmpi");
  expectBothRun(kOpenMpi);
}

TEST(Launchers, PmixAlone) {
  NEEDS("mpirun.openmpi");
  // What prun and others set: no rank and size but through PMIx.
  const Ended ended = shell(kTimeLimit + std::string(kOpenMpi) + " env -u OMPI_COMM_WORLD_RANK " + kProgram);
  if (ended.output.find("libpmix.so.2 cannot be loaded") != std::string::npos) GTEST_SKIP() << ended.output;
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

TEST(Launchers, Mpich) {
  NEEDS("mpiexec.mpich");
  expectBothRun("mpiexec.mpich -n 3");
  // Its store serves a process once; the second program of a process has to be told where to meet.
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
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("all_reduce over 3 ranks: 3, right"));
}

TEST(Launchers, Slurm) {
  NEEDS("srun");
  if (shell("timeout 10 srun --immediate=5 true").status != 0) GTEST_SKIP() << "there is no cluster for srun";
  expectBothRun("srun --overcommit -n 3");
}

// All processes at once, by a shell in a launcher's place.
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
}

TEST(Launchers, XylemRun) {
  const Ended ended = shell(kTimeLimit + std::string(XYLEM_COMMAND " run -n 3 -- ") + kProgram);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(ended.output, "[0] all_reduce over 3 ranks: 3, right\n");
}

}  // namespace
}  // namespace xylem
