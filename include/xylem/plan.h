#pragma once
// The planner as a library: what NCCL would do with a job on given hosts, without a GPU. Link with
// libxylem-plan.
//
//   const xylem::PlanOptions options{.hosts = 2, .settings = {{"NCCL_CROSS_NIC", "0"}}};
//   const xylem::JobPlan plan = xylem::JobPlan::ofFile("dgxh100.xml", options);
//   for (int channel = 0; channel < plan.channels(); ++channel)
//     for (int rank : plan.ring(channel)) std::printf("%d ", rank);
//
// A plan is a value: it can be moved, and read from several threads. A plan that was moved from throws PlanError. Planning reads only the description and
// the settings that it is given, and neither the environment nor this machine.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "xylem/export.h"

namespace xylem {

// The description, a setting or the size of the job cannot be used. The text names the file and line.
class XYLEM_EXPORT PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~PlanError() override;
};

struct PlanOptions {
  int hosts = 1;                                     // identical hosts in the job; one alone uses no NICs
  std::map<std::string, std::string> settings = {};  // NCCL_* variables, as `xylem settings` lists them
  // Whether the driver offers NVLink multicast. Not given, it does on machines with the hardware, if NCCL_NVLS_ENABLE leaves
  // it open.
  std::optional<bool> nvls = std::nullopt;
  bool collnet = false;  // the network computes collectives
  // The version of NCCL to plan for, such as 2.27.7; empty: as XYLEM_NCCL in `settings`, else the newest known one.
  std::string nccl = {};
};

// Consecutive hosts of a job that are alike.
struct JobHosts {
  std::string file;       // topology XML
  std::vector<int> gpus;  // device numbers in rank order; empty: all of the file
  int count = 1;
};

// The channels of one pattern inside a host.
struct PlannedGraph {
  std::string pattern;        // RING, BALANCED_TREE, TREE
  double bandwidthIntra = 0;  // GB/s (1e9 bytes per second) per channel, inside the host
  double bandwidthInter = 0;  // GB/s per channel, to the network devices
  std::string typeIntra;      // worst path inside the host: LOC, NVL, NVB, PIX, PXB, P2C, PXN, PHB, SYS
  std::string typeInter;      // worst path to the network devices, one of these; DIS: the host has none
  std::vector<std::vector<int>> channels;  // ranks of the first host, in the channel's order
};

// A rank's neighbours in the tree of a channel.
struct PlannedTree {
  int up = -1;            // -1 at the root
  std::vector<int> down;  // up to three
};

// An algorithm with a protocol that could run an operation.
struct PlannedCandidate {
  std::string algorithm;    // Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT
  std::string protocol;     // LL, LL128, Simple
  double microseconds = 0;  // predicted
};

// The algorithm, protocol and channels with which NCCL would run an operation.
struct PlannedChoice : PlannedCandidate {
  // NVLS and NVLSTree have channels of their own, which may be more than JobPlan::channels().
  int channels = 0;
  int warps = 0;  // per channel
  // All candidates from the fastest on; the first one is this choice.
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

  // The assumptions of the plan where the options leave something open, a sentence each: NVLS, NICs that the variables select,
  // overrides of bandwidths, a graph file.
  const std::vector<std::string>& assumptions() const;
  // Warnings of input that hardly means what was meant, a sentence each: elements of the file that nothing reads, variables that the version
  // does not know, a version whose rules are those of another one.
  const std::vector<std::string>& warnings() const;

  int ranks() const;
  // Nodes as NCCL counts them: a host whose GPUs have no better way to each other than the network is several nodes.
  int nodes() const;
  int channels() const;
  // The ranks of a channel's ring, from rank 0. Throws std::out_of_range.
  std::vector<int> ring(int channel) const;
  // Throws std::out_of_range.
  PlannedTree tree(int rank, int channel) const;
  // The choice of rank 0. `collective`: AllReduce, AllGather, ReduceScatter, Broadcast or Reduce of 32-bit
  // floats (sums). `bytes`: of the blocks of all ranks together for AllGather and ReduceScatter, otherwise of
  // the buffer. Throws PlanError for other names, and with the reasons if nothing can run it: the settings may leave no
  // algorithm, or the hosts have no way to each other.
  PlannedChoice choice(const std::string& collective, std::uint64_t bytes) const;
  // The graphs of the first rank's host.
  PlannedGraph ringGraph() const;
  PlannedGraph treeGraph() const;
  // The whole plan as JSON, in the format xylem-plan-1.
  std::string json() const;
  // The reasons for a decision, in the format xylem-why-1. `question` has the arguments of `xylem why`:
  // {"gdr", "gpu0", "nic2"}. Plans again. Throws PlanError, with similar questions, for one that it does not
  // know.
  std::string why(const std::vector<std::string>& question) const;
  // The differences between this plan and `other`, and their causes, in the format xylem-diff-1, which calls
  // the plans by these names.
  std::string diff(const JobPlan& other, const std::string& nameOfThis = "A",
                   const std::string& nameOfOther = "B") const;
  // The lines that NCCL would log about the plan.
  std::vector<std::string> log() const;

 private:
  struct State;
  explicit JobPlan(std::unique_ptr<State> state);
  const State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace xylem
