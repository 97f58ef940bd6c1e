// Ranks on two hosts, where launchers start processes as they would with ssh. Each host has its own name and
// address, and ranks find each other only by the variables or the store of the launcher.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/launch/launched_ranks.h"
#include "runtime/launch/shell.h"
#include "support/named_hosts.h"

namespace xylem::testing {
namespace {

class LaunchedHosts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!kSanitized && NamedHosts::unavailable().empty())
      hosts_ = std::make_unique<NamedHosts>(std::vector<std::string>{"red", "blue"});
  }
  static void TearDownTestSuite() { hosts_.reset(); }
  void SetUp() override {
    if (!kSanitized && !hosts_) GTEST_SKIP() << NamedHosts::unavailable();
  }

  // Runs a command on the first host.
  static Ended run(const std::string& line) {
    return shellForHosts("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
                         (kTimeLimit + hosts_->on(0) + line));
  }
  // The hosts share /tmp, also with hosts of the same names in other tests.
  std::string openMpi(const std::string& places) const {
    return fmt::format(
        "mpirun.openmpi --mca plm_rsh_agent {} --mca orte_tmpdir_base {} --bind-to none -x XYLEM_TIMEOUT "
        "--host {} ",
        hosts_->agent(), (scratch_ / "").string(), places);
  }
  static std::string mpich(const std::string& places) {
    return fmt::format("mpiexec.mpich -launcher ssh -launcher-exec {} -hosts {} -n 4 ", hosts_->agent(),
                       places);
  }

  // `launcher` starts ranks on these hosts, in this order. After a failure no other launcher is started, as
  // each could run into its time limit.
  static void expectBothRun(const std::string& launcher, const std::vector<std::string>& hostOfRank) {
    if (!HasFailure()) expectRanks(run(launcher + kPerf), hostOfRank);
    if (!HasFailure()) expectSum(run(launcher + kProgram), static_cast<int>(hostOfRank.size()));
  }

  static inline std::unique_ptr<NamedHosts> hosts_;
  const TemporaryDirectory scratch_;
};

TEST_F(LaunchedHosts, OpenMpi) {
  NEEDS("mpirun.openmpi");
  expectBothRun(openMpi("red:2,blue:2"), {"red", "red", "blue", "blue"});
  expectBothRun(openMpi("red:1,blue:3"), {"red", "blue", "blue", "blue"});
  expectBothRun(openMpi("blue,red,red") + "--map-by seq ", {"blue", "red", "red"});
}

TEST_F(LaunchedHosts, PmixAlone) {
  NEEDS("mpirun.openmpi");
  // The variables that prun and others set: rank and size only through PMIx.
  expectSum(run(openMpi("red:2,blue:1") + "env -u OMPI_COMM_WORLD_RANK " + kProgram), 3);
}

TEST_F(LaunchedHosts, Torchrun) {
  NEEDS("torchrun");
  // torch 1.13 finds no redirection of both, and of none, under Python 3.11.
  const auto torchrun = [this](int node) {
    return kTimeLimit + hosts_->on(node) +
           fmt::format(
               "torchrun --nnodes 2 --node_rank {} --nproc_per_node 2 --master_addr red --no_python -r 1 -t "
               "1 "
               "--log_dir {} {}",
               node, (scratch_ / std::to_string(node)).string(), kProgram);
  };
  expectSum(shellForHosts(torchrun(1) + " & " + torchrun(0) + " && wait $!"), 4);
}

TEST_F(LaunchedHosts, Mpich) {
  NEEDS("mpiexec.mpich");
  expectBothRun(mpich("red:2,blue:2"), {"red", "red", "blue", "blue"});
  expectBothRun(mpich("blue:1,red:3"), {"blue", "red", "red", "red"});
}

}  // namespace
}  // namespace xylem::testing
