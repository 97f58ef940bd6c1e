#pragma once
// A fabric as data sees it: directed links, and which share of a flow each of them carries.
//
//   FabricGraph network(fabric);
//   for (const LinkShare& share : network.route(portA, portB)) ... network.link(share.link), share.part ...
//
// Streams take the shortest ways, all of them: at every switch they spread evenly over the cables that lead
// nearer (ECMP). Switches that are joined to the same others by the same cables, as the spines of a fat tree,
// then carry the same; they are one here, and so are their links.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem {

// One direction.
struct NetworkLink {
  std::string from, to;
  std::int64_t cables = 1;
  double bandwidth = 0;   // GB/s of each cable
  bool toHost = false;    // between a NIC and its switch: from the switch
  bool fromHost = false;  // to the switch
};

struct LinkShare {
  int link = 0;
  double part = 0;  // of the flow, over all its cables together
};

class FabricGraph {
 public:
  explicit FabricGraph(const Fabric& fabric);

  int links() const { return static_cast<int>(links_.size()); }
  const NetworkLink& link(int link) const { return links_[static_cast<std::size_t>(link)]; }
  // Links from here on are between switches.
  int firstInner() const { return firstInner_; }

  // Ports are numbered host after host.
  int port(int host, int ofHost) const { return firstPort_[static_cast<std::size_t>(host)] + ofHost; }
  int outOf(int port) const { return 2 * port; }  // the link from it
  int into(int port) const { return 2 * port + 1; }
  int leaf(int port) const { return leafOf_[static_cast<std::size_t>(port)]; }  // a node, see below

  // Between switches; switches that are one are one node. Shares of links between switches, in the links'
  // order. Throws Error if there is no way. The result stays where it is.
  const std::vector<LinkShare>& route(int fromNode, int toNode);
  // Cables on the way between two nodes; negative if there is none.
  int distance(int fromNode, int toNode);

 private:
  struct Edge {
    int to = 0;
    int link = 0;
    std::int64_t cables = 0;
  };
  void addEdges(const Fabric& fabric, const std::vector<int>& groupOf);
  const std::vector<int>& distancesTo(int node);

  std::vector<NetworkLink> links_;
  int firstInner_ = 0;
  std::vector<int> firstPort_;               // by host
  std::vector<int> leafOf_;                  // by port: node
  std::vector<std::string> names_;           // by node
  std::vector<std::vector<Edge>> edges_;     // by node: what leads away
  std::vector<std::vector<int>> distances_;  // by node: from all others to it; empty: not asked yet
  std::unordered_map<long long, std::vector<LinkShare>> routes_;
};

// For every node of a fabric's switches: which of them are one. Numbered by their first switch.
std::vector<int> twinSwitches(const Fabric& fabric);

}  // namespace xylem
