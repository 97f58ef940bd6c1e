#pragma once
// The planner as a library: what NCCL 2.25 would do with a job on such hosts, without a GPU. Link with
// libxylem-plan.
//
//   xylem::JobPlan plan = xylem::JobPlan::ofFile("dgxh100.xml", {.hosts = 2, .settings = {{"NCCL_CROSS_NIC",
//   "0"}}}); for (int c = 0; c < plan.channels(); ++c)
//     for (int rank : plan.ring(c)) ...
//
// A plan is a value: it can be moved, and read from several threads. Planning reads nothing but the
// description and the settings given: not the environment, not this machine.

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "xylem/export.h"

namespace xylem {

// The description, a setting or the size of the job cannot be used. what() names the file and line.
class XYLEM_EXPORT PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~PlanError() override;
};

struct PlanOptions {
  int hosts = 1;                                     // identical hosts in the job
  std::map<std::string, std::string> settings = {};  // NCCL_* variables, as `xylem settings` lists them
  bool nvls = false;                                 // the driver offers NVLink multicast
  bool collnet = false;                              // the network computes collectives
};

// Hosts of a job that are alike and follow each other.
struct JobHosts {
  std::string file;       // topology XML
  std::vector<int> gpus;  // device numbers in rank order; empty: all of the file
  int count = 1;
};

// The channels of one pattern inside a host.
struct PlannedGraph {
  std::string pattern;                     // RING, BALANCED_TREE, TREE
  double bandwidthIntra = 0;               // GB/s (1e9 bytes per second) per channel, inside the host
  double bandwidthInter = 0;               // GB/s per channel, to the network devices
  std::string typeIntra;                   // worst path inside the host: LOC, NVL, NVB, PIX, PXB, PHB, SYS
  std::string typeInter;                   // worst path to the network devices
  std::vector<std::vector<int>> channels;  // ranks of the first host, in the channel's order
};

// A rank's place in the tree of a channel; -1 where there is none.
struct PlannedTree {
  int up = -1;
  std::vector<int> down;  // up to three
};

// An algorithm under a protocol, for some operation.
struct PlannedCandidate {
  std::string algorithm;    // Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT
  std::string protocol;     // LL, LL128, Simple
  double microseconds = 0;  // predicted
};

// What NCCL would run an operation with.
struct PlannedChoice : PlannedCandidate {
  int channels = 0;
  int warps = 0;  // per channel
  // All that could run it, this one first, from the fastest on.
  std::vector<PlannedCandidate> candidates;
};

class XYLEM_EXPORT JobPlan {
 public:
  // Both throw PlanError.
  static JobPlan ofFile(const std::string& path, const PlanOptions& options = {});
  static JobPlan ofXml(const std::string& xml, const PlanOptions& options = {});
  // Hosts that differ; `options.hosts` is not used.
  static JobPlan ofHosts(const std::vector<JobHosts>& hosts, const PlanOptions& options = {});

  JobPlan(JobPlan&&) noexcept;
  JobPlan& operator=(JobPlan&&) noexcept;
  ~JobPlan();

  int ranks() const;
  // As NCCL counts them: a host whose GPUs reach each other only over the network is several nodes.
  int nodes() const;
  int channels() const;
  // The ranks of a channel's ring, from rank 0. Throws std::out_of_range.
  std::vector<int> ring(int channel) const;
  // Throws std::out_of_range.
  PlannedTree tree(int rank, int channel) const;
  // As rank 0 chooses. `collective`: AllReduce, AllGather, ReduceScatter, Broadcast or Reduce of 32-bit
  // floats (sums); `bytes`: of the whole result, so times the number of ranks for AllGather and
  // ReduceScatter. Throws PlanError for other names, and where settings leave nothing to run it with.
  PlannedChoice choice(const std::string& collective, std::uint64_t bytes) const;
  // The graphs of the first rank's host.
  PlannedGraph ringGraph() const;
  PlannedGraph treeGraph() const;
  // Everything, in the format xylem-plan-1.
  std::string json() const;
  // Why something is as it is, in the format xylem-why-1. The question is what `xylem why` takes: {"gdr",
  // "gpu0", "nic2"}. Plans again. Throws PlanError, with what could be meant, for what cannot be asked.
  std::string why(const std::vector<std::string>& question) const;
  // What `other` does differently and what that comes from, in the format xylem-diff-1, by these names.
  std::string diff(const JobPlan& other, const std::string& nameOfThis = "A",
                   const std::string& nameOfOther = "B") const;
  // NCCL's own log lines about it.
  std::vector<std::string> log() const;

 private:
  struct State;
  explicit JobPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xylem
