#pragma once
// Hosts as launchers know them, each with a network, a host name and a table of names. Commands enter them
// from this process and from each other.
//
//   if (const std::string why = NamedHosts::unavailable(); !why.empty()) GTEST_SKIP() << why;
//   NamedHosts hosts({"red", "blue"});
//   shell(hosts.on(0) + "mpirun --mca plm_rsh_agent " + hosts.agent() + " --host red,blue hostname");
//
// A process keeps each host; it ends with this one. Files are those of the machine, except /etc/hosts, where
// a host finds its own name on the loopback first, as Debian's installer writes it.

#include <string>
#include <vector>

#include "core/temporary_directory.h"
#include "support/child_process.h"
#include "support/namespaces.h"

namespace xylem {

class NamedHosts {
 public:
  // The reason why this machine cannot make them; empty if it can.
  static std::string unavailable();

  explicit NamedHosts(const std::vector<std::string>& names);

  // The beginning of a command line that runs on this host.
  std::string on(int host) const;
  // A program that takes a host's name and a command line as ssh does. Commands have only PATH, HOME and
  // XDG_CACHE_HOME in their environment.
  std::string agent() const { return folder_ / "agent"; }

 private:
  ChildProcess keeperOf(int host, const std::string& name) const;
  void writeAgent(const std::vector<std::string>& names) const;

  TemporaryDirectory folder_;
  Namespaces networks_;
  std::vector<ChildProcess> keepers_;
};

}  // namespace xylem
