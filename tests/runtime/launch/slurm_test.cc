// Ranks that a real srun starts on two nodes: their placement and the method of their rendezvous.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <memory>

#include "runtime/launch/launched_ranks.h"
#include "runtime/launch/shell.h"
#include "runtime/launch/slurm_cluster.h"
#include "support/named_hosts.h"

namespace xylem::testing {
namespace {

class Slurm : public ::testing::Test {
 protected:
  // One cluster for all tests of this process.
  static void SetUpTestSuite() {
    if (kSanitized || !SlurmCluster::unavailable().empty()) return;
    hosts_ = std::make_unique<NamedHosts>(std::vector<std::string>{"ash", "fir"});
    cluster_ = std::make_unique<SlurmCluster>(*hosts_, std::vector<std::string>{"ash", "fir"});
  }
  static void TearDownTestSuite() {
    cluster_.reset();
    hosts_.reset();
  }
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "Slurm is not built with sanitizers";
    if (!cluster_) GTEST_SKIP() << SlurmCluster::unavailable();
  }

  static Ended run(const std::string& line) {
    return shellForHosts("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
                         (kTimeLimit + cluster_->login() + line));
  }
  static std::string hostfile(const std::vector<std::string>& hostOfRank) {
    const std::filesystem::path file = *cluster_ / "hostfile";
    std::ofstream list(file);
    for (const std::string& host : hostOfRank) list << host << '\n';
    return file;
  }
  // `launcher` starts ranks on these hosts, in this order. After a failure no other launcher is started, as
  // each could run into its time limit.
  static void expectBothRun(const std::string& launcher, const std::vector<std::string>& hostOfRank) {
    if (!HasFailure()) expectRanks(run(launcher + kPerf), hostOfRank);
    if (!HasFailure()) expectSum(run(launcher + kProgram), static_cast<int>(hostOfRank.size()));
  }

 private:
  static inline std::unique_ptr<NamedHosts> hosts_;
  static inline std::unique_ptr<SlurmCluster> cluster_;
};

TEST_F(Slurm, RanksOfOneNodeAndOfTwo) {
  expectBothRun("srun -N 1 -n 4 ", {"ash", "ash", "ash", "ash"});
  expectBothRun("srun -N 2 -n 4 --ntasks-per-node=2 ", {"ash", "ash", "fir", "fir"});
  expectBothRun("srun -N 2 -n 4 --ntasks-per-node=2 --distribution=cyclic ", {"ash", "fir", "ash", "fir"});
}

TEST_F(Slurm, TheFirstRankIsAnywhere) {
  const std::vector<std::string> orders[] = {{"fir", "ash", "ash", "ash"}, {"fir", "fir", "fir", "ash"}};
  for (const std::vector<std::string>& hostOfRank : orders)
    expectBothRun("env SLURM_HOSTFILE=" + hostfile(hostOfRank) + " srun -n 4 ", hostOfRank);
}

TEST_F(Slurm, ItsStores) {
  const std::vector<std::string> hostOfRank = {"fir", "ash", "ash", "fir"};
  for (const std::string store : {"pmi2", "pmix"}) {
    if (store == "pmix" && !isInstalled("mpirun.openmpi")) continue;  // PMIx's library comes with it
    expectBothRun(fmt::format("env SLURM_HOSTFILE={} srun --mpi={} -n 4 ", hostfile(hostOfRank), store),
                  hostOfRank);
  }
}

TEST_F(Slurm, InsideOfAnAllocation) {
  const std::string step = "srun --exact -N 2 -n 4 " + kProgram;
  const Ended both = run("salloc --quiet -N 2 -n 8 sh -c '" + step + " & " + step + " & wait'");
  expectSum(both, 4);
  EXPECT_NE(both.output.find("right"), both.output.rfind("right")) << both.output;
  for (const char* launcher : {"mpirun.openmpi", "mpiexec.mpich"})
    if (isInstalled(launcher))
      expectBothRun(fmt::format("salloc --quiet -N 2 --ntasks-per-node=2 {} -n 4 ", launcher),
                    {"ash", "ash", "fir", "fir"});
}

}  // namespace
}  // namespace xylem::testing
