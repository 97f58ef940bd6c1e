#pragma once
// Where the NICs of a job's hosts are plugged in, when each of the hosts is somebody in a fabric.
//
//   Sites sites(fabric, {"h3", "h0"}, plan.job(), traffic);    // host 0 of the job is h3, host 1 is h0
//   for (int port : sites.ports(0, nic)) ... fabric's port ...
//
// A NIC of the plan is the one of its name in the fabric, or of its number; one that stands for several
// ("mlx5_0+mlx5_1") is all of them.

#include <string>
#include <vector>

#include "planner/connect/job.h"
#include "insight/fabric/fabric.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/traffic.h"

namespace xylem {

class Sites {
 public:
  // `names`: by host of the job. Throws InputError for a name that is not the fabric's or comes twice, and
  // for a NIC that the plan uses and the fabric does not have.
  Sites(const Fabric& fabric, const FabricGraph& network, const std::vector<std::string>& names,
        const Job& job, const Traffic& traffic);

  int count() const { return static_cast<int>(hosts_.size()); }
  const std::string& name(int site) const {
    return fabric_.hosts[hosts_[static_cast<std::size_t>(site)]].name;
  }
  // Of the hosts of this shape only; empty for NICs of other shapes, and for those that carry nothing.
  const std::vector<int>& ports(int site, int nic) const {
    return ports_[static_cast<std::size_t>(site)][static_cast<std::size_t>(nic)];
  }
  // GB/s that the ports of a NIC have together.
  double bandwidth(int site, int nic) const {
    return bandwidth_[static_cast<std::size_t>(site)][static_cast<std::size_t>(nic)];
  }

 private:
  const Fabric& fabric_;
  std::vector<std::size_t> hosts_;                    // by site: host of the fabric
  std::vector<std::vector<std::vector<int>>> ports_;  // by site, by NIC
  std::vector<std::vector<double>> bandwidth_;
};

}  // namespace xylem
