#pragma once
// This machine as a topology document: CPUs, NUMA nodes and the PCI tree through hwloc, network interfaces from the
// OS, and, where there is no GPU, host devices.
//
// A *host device* is a gpu element of ours: compute on CPU cores whose memory is its NUMA node's. It is marked
// host="1", hangs below a made-up PCI bus id on its NUMA node and is tied to that node's memory by a c2c link, so that
// the same engine plans for it. P2P between host devices of one host is always possible (paths/reach.h).

#include "topology/document.h"

namespace xylem {

struct DetectOptions {
  // How many host devices to describe: max(this, one per core). XYLEM_HOST_DEVICES or the local ranks decide.
  int hostDevices = 0;
};

// Throws Error if the machine cannot be read at all.
Document detectTopology(const DetectOptions& options = {});

}  // namespace xylem
