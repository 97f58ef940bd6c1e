#pragma once
// A Slurm cluster of our own: munged, slurmctld and slurmd, which end with it, and everything they keep in a
// folder of its own. The first host has the controller, and every host is a node.
//
//   if (const std::string why = SlurmCluster::unavailable(); !why.empty()) GTEST_SKIP() << why;
//   const NamedHosts hosts({"red", "blue"});
//   const SlurmCluster cluster(hosts, {"red", "blue"});
//   shellForHosts(cluster.login() + "srun -N 2 hostname");

#include <filesystem>
#include <string>
#include <vector>

#include "core/temporary_directory.h"
#include "support/child_process.h"
#include "support/named_hosts.h"
#include "support/orphans.h"

namespace xylem::testing {

class SlurmCluster {
 public:
  // Why this machine cannot have one, or nothing.
  static std::string unavailable();

  // Returns when the nodes are idle; throws Error, with what the daemons said, if they do not get so.
  SlurmCluster(const NamedHosts& hosts, const std::vector<std::string>& names);

  // What a command line starts with to run on the first host, where srun and the others find the cluster.
  const std::string& login() const { return login_; }
  // For files of jobs.
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  void configure(const std::vector<std::string>& names) const;
  void start(const std::string& line, const std::string& log);
  void await(const std::string& condition) const;
  std::string logs() const;

  TemporaryDirectory folder_;
  Orphans orphans_;  // what is left of jobs
  std::vector<ChildProcess> daemons_;
  std::string login_;
};

}  // namespace xylem::testing
