#pragma once
// The network between hosts, as a file describes it: switches, the cables between them, and the switch that
// each NIC of each host is plugged into. FabricBuilder puts one together, name by name, and checks it.
//
//   Fabric fabric = readFabric("fabric.txt");                  // fabric_file.h
//   for (const FabricPort& port : fabric.hosts[0].ports) ... fabric.switches[port.leaf] ...
//
// Bandwidths are in GB/s (1e9 bytes per second), of one cable, in each direction.

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"

namespace xylem::fabric {

// All cables of one bandwidth between the same two switches.
struct FabricLink {
  int a = 0, b = 0;  // indices of switches, a < b
  double bandwidth = 0;
  int cables = 1;

  bool operator==(const FabricLink&) const = default;
};

// A port of a NIC. A NIC with two ports has two entries of the same name.
struct FabricPort {
  std::string nic;
  int leaf = 0;  // index of its switch
  double bandwidth = 0;

  bool operator==(const FabricPort&) const = default;
};

struct FabricHost {
  std::string name;
  std::vector<FabricPort> ports;

  bool operator==(const FabricHost&) const = default;
};

struct Fabric {
  std::string file;                   // named in error messages
  std::vector<std::string> switches;  // unique names
  std::vector<FabricLink> links;
  std::vector<FabricHost> hosts;  // with unique names

  // True if both describe the same network, whatever files they came from.
  bool sameNetwork(const Fabric& other) const {
    return switches == other.switches && links == other.links && hosts == other.hosts;
  }
};

constexpr std::size_t kMaxFabricSwitches = 1 << 16;
// Applies to links between switches and, separately, to ports of NICs.
constexpr std::size_t kMaxFabricLinks = 1 << 20;

// Puts a Fabric together. Both readers (fabric_file.h, ib_fabric.h) use it.
//
//   FabricBuilder builder("fabric.txt");
//   builder.addSwitch("leaf0", where);
//   builder.addPort("h0", "mlx5_0", "leaf0", 50, where);
//   Fabric fabric = std::move(builder).finish();
class FabricBuilder {
 public:
  explicit FabricBuilder(const std::string& file) { fabric_.file = file; }

  // All functions throw InputError at `where` for a repeated switch, an unknown switch, or too many entries.
  void addSwitch(const std::string& name, const SourceLocation& where);
  // Cables of one bandwidth between the same two switches add up to one link.
  void addCables(const std::string& a, const std::string& b, double bandwidth, int cables,
                 const SourceLocation& where);
  void addPort(const std::string& host, const std::string& nic, const std::string& leaf, double bandwidth,
               const SourceLocation& where);

  Fabric finish() && { return std::move(fabric_); }

 private:
  int switchOf(const std::string& name, const SourceLocation& where) const;

  Fabric fabric_;
  std::unordered_map<std::string, int> switches_;
  std::unordered_map<std::string, std::size_t> hosts_;
  std::map<std::tuple<int, int, double>, std::size_t> links_;
  std::size_t ports_ = 0;
};

}  // namespace xylem::fabric
