#pragma once
// Hosts as launchers know them: a network, a host name and a table of names each. Commands enter them from
// this process and from each other.
//
//   if (const std::string why = NamedHosts::unavailable(); !why.empty()) GTEST_SKIP() << why;
//   NamedHosts hosts({"red", "blue"});
//   shell(hosts.on(0) + "mpirun --mca plm_rsh_agent " + hosts.agent() + " --host red,blue hostname");
//
// A process keeps each host; it ends with this one. Files are those of the machine, but for /etc/hosts, where
// a host finds its own name on the loopback first, as Debian's installer leaves it.

#include <string>
#include <vector>

#include "core/temporary_directory.h"
#include "support/child_process.h"
#include "support/namespaces.h"

namespace xylem {

class NamedHosts {
 public:
  // Why this machine cannot do it, or nothing.
  static std::string unavailable();

  explicit NamedHosts(const std::vector<std::string>& names);

  // What a command line starts with to run on this host.
  std::string on(int host) const;
  // A program that takes a host's name and a command line as ssh does. Commands find PATH and HOME in their
  // environment, and nothing else.
  std::string agent() const { return folder_ / "agent"; }

 private:
  ChildProcess keeperOf(int host, const std::string& name) const;
  void writeAgent(const std::vector<std::string>& names) const;

  TemporaryDirectory folder_;
  Namespaces networks_;
  std::vector<ChildProcess> keepers_;
};

}  // namespace xylem
