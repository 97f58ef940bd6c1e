#pragma once
// Where the NICs of a job's hosts are attached to a fabric: maps hosts of the job to hosts of the fabric, and
// their NICs to ports.
//
//   Attachments attachments(fabric, network, {"h3", "h0"}, plan.job(), traffic);  // host 0 of the job is h3
//   for (int port : attachments.ports(0, nic)) ... network.leaf(port) ...
//
// A NIC of the plan is the fabric's NIC of the same name, or else of its number. A merged NIC
// ("mlx5_0+mlx5_1") is attached by the ports of all its parts.

#include <string>
#include <vector>

#include "insight/fabric/fabric.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/traffic.h"
#include "planner/connect/job.h"

namespace xylem::fabric {

class Attachments {
 public:
  // `names`: by host of the job. Throws InputError for a name that the fabric lacks or that occurs twice, and
  // for a NIC that the plan uses and the fabric lacks.
  Attachments(const Fabric& fabric, const FabricGraph& network, const std::vector<std::string>& names,
              const connect::Job& job, const Traffic& traffic);

  int count() const { return static_cast<int>(hosts_.size()); }
  const std::string& name(int host) const {
    return fabric_.hosts[hosts_[static_cast<std::size_t>(host)]].name;
  }
  // `nic`: index into Traffic::nics. Empty if the host has no such NIC, or if the plan does not use it.
  const std::vector<int>& ports(int host, int nic) const {
    return ports_[static_cast<std::size_t>(host)][static_cast<std::size_t>(nic)];
  }
  // GB/s of all ports of a NIC together.
  double bandwidth(int host, int nic) const {
    return bandwidth_[static_cast<std::size_t>(host)][static_cast<std::size_t>(nic)];
  }

 private:
  const Fabric& fabric_;
  std::vector<std::size_t> hosts_;                    // by host of the job: index into the fabric's hosts
  std::vector<std::vector<std::vector<int>>> ports_;  // by host, by NIC
  std::vector<std::vector<double>> bandwidth_;
};

}  // namespace xylem::fabric
