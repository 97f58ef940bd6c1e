#pragma once
// A fabric as directed links, and the share of a flow that each link carries.
//
//   FabricGraph network(fabric);
//   for (const LinkShare& share : network.route(portA, portB)) ... network.link(share.link), share.part ...
//
// Flows use all shortest paths: at every switch a flow splits evenly over the cables that lead nearer to its
// destination (ECMP). Switches without hosts that have the same cables to the same neighbours, such as the
// spines of a fat tree, therefore carry equal loads; they are merged into one node, and so are their links.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem::fabric {

// One direction of a link.
struct NetworkLink {
  std::string from, to;
  std::int64_t cables = 1;
  double bandwidth = 0;  // GB/s of each cable
};

struct LinkShare {
  int link = 0;
  double part = 0;  // of the flow, on all cables of the link together
};

class FabricGraph {
 public:
  explicit FabricGraph(const Fabric& fabric);

  int links() const { return static_cast<int>(links_.size()); }
  const NetworkLink& link(int link) const { return links_[static_cast<std::size_t>(link)]; }
  // Links with this index and above are between switches; those below belong to ports.
  int firstInner() const { return firstInner_; }

  // Ports are numbered host by host.
  int port(int host, int ofHost) const { return firstPort_[static_cast<std::size_t>(host)] + ofHost; }
  int outOf(int port) const { return 2 * port; }  // the link from the port to its switch
  int into(int port) const { return 2 * port + 1; }
  int leaf(int port) const { return leafOf_[static_cast<std::size_t>(port)]; }  // the node of its switch

  // Returns the links between two nodes (groups of merged switches) and their shares, from the source on.
  // Throws Error if there is no path. The reference stays valid as long as the graph.
  const std::vector<LinkShare>& route(int fromNode, int toNode);
  // Returns the number of hops between two nodes; negative if there is no path.
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
  std::vector<std::vector<Edge>> edges_;     // by node: outgoing edges
  std::vector<std::vector<int>> distances_;  // by node: hops from all others to it; empty: not computed yet
  std::unordered_map<long long, std::vector<LinkShare>> routes_;
};

// Returns by switch the node that it is merged into. Nodes are numbered in the order of their first switches.
std::vector<int> twinSwitches(const Fabric& fabric);

}  // namespace xylem::fabric
