#pragma once
// Selects the network devices of a description by NCCL's variables, as NCCL does when it detects a machine:
// NCCL_IB_DISABLE and NCCL_IB_HCA for RDMA devices, NCCL_SOCKET_IFNAME for interfaces.
//
//   std::vector<std::string> remarks;
//   const Document mine = selectNets(readTopology("dgxh100.xml"), settings, &remarks);

#include <string>
#include <vector>

#include "core/settings.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// Whether a network device is an interface, used through sockets, by its name; else it is an RDMA device (mlx5_0, rdmap0).
// `ibp3s0` may be either: the ports of RDMA devices count from 1, and interfaces have port 0.
bool isInterface(const std::string& name, int port);

// Returns whether `list`, in the syntax of NCCL_IB_HCA, selects a port of a device. An empty list selects
// all.
bool hcaMatches(const std::string& list, const std::string& name, int port);

// The rail and the plane of the network that the first entry for a port names, as in `mlx5_0:1:2:0` or `mlx5_0::2`; -1 where it
// names none.
struct NetPlace {
  int rail = -1, plane = -1;
};
NetPlace placeOf(const std::string& list, const std::string& name, int port);

// The description without the network devices that the variables leave out, and without cards all of whose
// ports they leave out. As in NCCL, those that are left are numbered from 0 on, in their order. `remarks` gets
// a sentence if they leave out any, `warnings` one if they leave out all.
Document selectNets(Document document, const Settings& settings, std::vector<std::string>* remarks = nullptr,
                    std::vector<std::string>* warnings = nullptr);

}  // namespace xylem::topology
