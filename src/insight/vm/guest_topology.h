#pragma once
// The topology file of a virtual machine, made of its host's: the devices that the guest has, below the PCI
// tree of the host, with the bus ids that they have inside of the guest. A hypervisor shows the guest another
// tree, often none; NCCL finds the true one in this file (NCCL_TOPO_FILE).
//
//   Document guest = guestTopology(readTopology("host.xml"), readGuestMap("vm.map"), &remarks);
//   writeFile("vm.xml", writeTopology(guest));
//
// Switches get bus ids that no machine has. NVLinks keep to GPUs of the guest. NUMA nodes are numbered anew
// unless the map names them, and the masks of CPUs, which are other ones in the guest, are left out unless
// the map gives them. GPUs are numbered by their bus id in the guest, as the driver there does.

#include <string>
#include <vector>

#include "insight/vm/guest_map.h"
#include "planner/topology/document.h"

namespace xylem {

// `remarks`: what the person should check. Throws InputError, naming the line of the map, for devices that
// the host does not have.
Document guestTopology(const Document& host, const GuestMap& map,
                       std::vector<std::string>* remarks = nullptr);

}  // namespace xylem
