#pragma once
// Jobs over several hosts: namespaces with a network each, in which the ranks run as processes. A rank is
// this test program again, started for one role.
//
//   const Role kSum("sum", [](const Seat& seat) { ... ncclCommInitRank(&comm, seat.ranks, seat.id(),
//   seat.rank) ... });
//
//   HostJob job(hosts, "sum", {.machines = {machine(2), zoo("gpu3-2sockets")}, .ranks = {0, 0, 1}});
//   job.kill(1);
//   EXPECT_EQ(job.wait(0), 0);
//
// Hosts have ids and topology files of their own. Ranks meet by NCCL_COMM_ID.

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "core/temporary_directory.h"
#include "nccl.h"
#include "support/namespaces.h"

namespace xylem::testing {

// The hardware of a host: the text of its topology file; empty: as detection finds this machine.
using Machine = std::string;
// Returns a machine with `devices` host devices and `nics` NICs.
Machine hostDevices(int devices, int nics = 1);
// Reads a file of topologies/.
Machine zoo(const std::string& name);
inline Machine detected() { return {}; }

struct JobShape {
  std::vector<Machine> machines;  // one per host
  std::vector<int> hostOfRank;
  bool six = false;  // over IPv6
  std::map<std::string, std::string> variables;
};

// A rank's place, as its process knows it.
struct Seat {
  int rank = 0;
  std::vector<int> hostOfRank;
  int ranks() const { return static_cast<int>(hostOfRank.size()); }
  int host() const { return hostOfRank[static_cast<std::size_t>(rank)]; }
  int localRank() const;
  // Joins the job or, after a fault, the surviving ranks. Returns null, after a failed expectation, if that
  // does not work.
  ncclComm_t join() const;
  ncclComm_t joinAmong(const std::vector<int>& ranks) const;
  // As join(), where it may fail. Another attempt meets at another address.
  ncclResult_t tryToJoin(const std::vector<int>& ranks, int attempt, ncclComm_t& comm) const;
  std::vector<int> all() const;
  // Announces to the test that this rank has come to some point.
  void mark(const std::string& what) const;
  // Waits until the test has announced it.
  void await(const std::string& what) const;

  std::string folder;
  bool six = false;
};

// A role, which ranks play; defined at namespace scope.
class Role {
 public:
  Role(const std::string& name, void (*body)(const Seat&));
};

class HostJob {
 public:
  HostJob(const Namespaces& hosts, const std::string& role, const JobShape& shape);
  // Ends what still runs.
  ~HostJob();
  HostJob(const HostJob&) = delete;
  HostJob& operator=(const HostJob&) = delete;

  // Until every rank has made this mark; false after a minute.
  bool reached(const std::string& mark) const;
  bool reached(const std::string& mark, int rank) const;
  void announce(const std::string& what) const;
  void kill(int rank, int signal = SIGKILL) const;
  // The exit status; 128 and more for signals.
  int wait(int rank, int seconds = 60);
  // The rank's log (NCCL_DEBUG_FILE).
  std::string log(int rank) const;

 private:
  TemporaryDirectory folder_;
  std::vector<pid_t> processes_;
};

}  // namespace xylem::testing
