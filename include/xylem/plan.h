#pragma once
// The planner as a library: what NCCL 2.25 would do with a job on such hosts, without a GPU. Link with libxylem-plan.
//
//   xylem::JobPlan plan = xylem::JobPlan::ofFile("dgxh100.xml", {.hosts = 2, .settings = {{"NCCL_CROSS_NIC", "0"}}});
//   for (int c = 0; c < plan.channels(); ++c)
//     for (int rank : plan.ring(c)) ...
//
// A plan is a value: it can be moved, and read from several threads. Planning reads nothing but the description and the
// settings given: not the environment, not this machine.

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
  int hosts = 1;                                // identical hosts in the job
  std::map<std::string, std::string> settings;  // NCCL_* variables, as `xylem settings` lists them
};

// The channels of one pattern inside a host.
struct PlannedGraph {
  std::string pattern;       // RING, BALANCED_TREE, TREE
  double bandwidthIntra = 0;  // GB/s (1e9 bytes per second) per channel, inside the host
  double bandwidthInter = 0;  // GB/s per channel, to the network devices
  std::string typeIntra;     // worst path inside the host: LOC, NVL, NVB, PIX, PXB, PHB, SYS
  std::string typeInter;     // worst path to the network devices
  std::vector<std::vector<int>> channels;  // ranks of the first host, in the channel's order
};

class XYLEM_EXPORT JobPlan {
 public:
  // Both throw PlanError.
  static JobPlan ofFile(const std::string& path, const PlanOptions& options = {});
  static JobPlan ofXml(const std::string& xml, const PlanOptions& options = {});

  JobPlan(JobPlan&&) noexcept;
  JobPlan& operator=(JobPlan&&) noexcept;
  ~JobPlan();

  int ranks() const;
  // As NCCL counts them: a host whose GPUs reach each other only over the network is several nodes.
  int nodes() const;
  int channels() const;
  // The ranks of a channel's ring, from rank 0. Throws std::out_of_range.
  std::vector<int> ring(int channel) const;
  // The graphs of the first rank's host.
  PlannedGraph ringGraph() const;
  PlannedGraph treeGraph() const;
  // Everything, in the format xylem-plan-1.
  std::string json() const;
  // NCCL's own log lines about it.
  std::vector<std::string> log() const;

 private:
  struct State;
  explicit JobPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xylem
