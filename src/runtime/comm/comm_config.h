#pragma once
// How a communicator was asked to be (ncclConfig_t, with its defaults filled in).

#include <string>

namespace xylem {

struct CommConfig {
  bool blocking = true;     // false: making and ending it go on in the background (ncclInProgress)
  int cgaClusterSize = 0;   // thread blocks that share memory on a GPU; accepted, without meaning on cores
  int minCtas = 0;          // at least so many channels for collectives; 0: as planned
  int maxCtas = 0;          // at most so many; 0: as planned
  std::string netName;      // the network to use, as NCCL_NET; empty: any
  bool splitShare = false;  // split communicators use the parent's resources
  int trafficClass = -1;    // of network traffic; -1: the network's default
};

}  // namespace xylem
