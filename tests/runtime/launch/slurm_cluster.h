#pragma once
// A Slurm cluster for tests: munged, slurmctld and slurmd, which end with it, and a folder for all their
// files. The first host has the controller, and every host is a node.
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
  // The reason why this machine cannot run a cluster; empty if it can.
  static std::string unavailable();

  // Returns when the nodes are idle. Throws an Error with the output of the daemons if they do not become
  // idle.
  SlurmCluster(const NamedHosts& hosts, const std::vector<std::string>& names);

  // The start of a command line that runs on the first host, where srun and the others find the cluster.
  const std::string& login() const { return login_; }
  // The folder for files of jobs.
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  void configure(const std::vector<std::string>& names) const;
  void start(const std::string& line, const std::string& log);
  void await(const std::string& condition) const;
  std::string logs() const;

  TemporaryDirectory folder_;
  Orphans orphans_;  // files that jobs leave
  std::vector<ChildProcess> daemons_;
  std::string login_;
};

}  // namespace xylem::testing
