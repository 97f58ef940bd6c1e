#pragma once
// Fabrics and jobs that are small enough to follow by hand.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "insight/fabric/fabric_file.h"
#include "insight/fabric/host_order.h"
#include "planner/topology/document.h"
#include "planner_support/machine_text.h"

namespace xylem::testing {

inline fabric::Fabric fabricOf(const std::string& text) { return fabric::parseFabric(text, "fabric.txt"); }

// Two leaves with two hosts each, 100 Gb/s (12.5 GB/s) everywhere, one spine.
inline const char* kTwoLeaves =
    "switch leaf[0-1] spine\n"
    "link leaf[0-1] spine 100Gb/s\n"
    "nic a,b mlx5_0 leaf0 100Gb/s\n"
    "nic c,d mlx5_0 leaf1 100Gb/s\n";

// Hosts of one GPU and one NIC of 100 Gb/s.
inline std::string oneGpuOneNic() {
  return machine(
      cpu(0, pciSwitch("0000:10:00.0", gpu("0000:11:00.0", 0, 70) + nic("0000:13:00.0", 0, 100000))));
}

inline plan::Plan planOf(const std::string& host, int count) {
  return plan::planJob(plan::identicalHosts(topology::parseTopology(host, "host.xml"), count), Settings());
}

inline fabric::HostOrder ordered(const plan::Plan& plan, const fabric::Fabric& fabric,
                                 const std::vector<std::string>& hosts) {
  return fabric::orderHosts({plan, fabric, hosts});
}

inline std::vector<std::string> names(const fabric::HostOrder& order) {
  std::vector<std::string> all;
  for (int host : order.proposed.order) all.push_back(order.attachments->name(host));
  return all;
}

}  // namespace xylem::testing
