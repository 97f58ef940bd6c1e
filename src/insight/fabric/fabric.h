#pragma once
// The network between hosts as somebody describes it: switches, the cables between them, and which switch
// every NIC of every host is plugged into.
//
//   Fabric fabric = readFabric("fabric.txt");                  // fabric_file.h
//   for (const FabricPort& port : fabric.hosts[0].ports) ... fabric.switches[port.leaf] ...
//
// Bandwidths are in GB/s (1e9 bytes per second), of one cable, in each direction.

#include <string>
#include <vector>

namespace xylem {

// Cables between two switches that are alike.
struct FabricLink {
  int a = 0, b = 0;  // switches, a < b
  double bandwidth = 0;
  int cables = 1;

  bool operator==(const FabricLink&) const = default;
};

// A port of a NIC. A NIC with two ports has two of these.
struct FabricPort {
  std::string nic;
  int leaf = 0;  // switch
  double bandwidth = 0;

  bool operator==(const FabricPort&) const = default;
};

struct FabricHost {
  std::string name;
  std::vector<FabricPort> ports;

  bool operator==(const FabricHost&) const = default;
};

struct Fabric {
  std::string file;                   // what messages call it
  std::vector<std::string> switches;  // names, each once
  std::vector<FabricLink> links;
  std::vector<FabricHost> hosts;  // each name once

  // Is it the same network, whatever file it came from?
  bool sameNetwork(const Fabric& other) const {
    return switches == other.switches && links == other.links && hosts == other.hosts;
  }
};

}  // namespace xylem
