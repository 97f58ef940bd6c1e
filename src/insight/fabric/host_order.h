#pragma once
// The order of a job's hosts on a fabric: how the given one does, and one that does better.
//
//   HostOrder order = orderHosts({plan, fabric, {"h0", "h1", "h2", "h3"}});
//   order.now.score[kRingTraffic].slowdown, order.proposed.score[kRingTraffic].slowdown
//   for (int site : order.proposed.order) ... order.sites->name(site) ...
//
// NCCL joins hosts by rank, so that the order of the hosts decides which of them are neighbours. Every order
// that is compared has the rings and trees that the planner gives it.

#include <memory>
#include <string>
#include <vector>

#include "insight/fabric/fabric.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/order_search.h"
#include "insight/fabric/score.h"
#include "insight/fabric/sites.h"
#include "insight/fabric/traffic.h"
#include "planner/plan/planner.h"

namespace xylem {

struct HostOrderRequest {
  const Plan& plan;
  const Fabric& fabric;
  std::vector<std::string> hosts;  // by host of the plan: its name in the fabric
  Placement placement = Placement::kBlocks;
  bool placedByHand = false;  // PlanRequest::hostOfRank was given
  SearchLimits limits = {};
};

// An order, what the planner makes of it, and how that does.
struct OrderedHosts {
  std::vector<int> order;  // by place, which is the host of a job in this order: site, a host of the plan
  Traffic traffic;
  Score score;
};

struct HostOrder {
  std::unique_ptr<FabricGraph> network;
  std::unique_ptr<Sites> sites;
  OrderedHosts now, proposed;  // the same, if nothing better was found
  bool allTried = false;       // no order is better than the proposed one
  long long tried = 0;         // orders that were compared

  bool isBetter() const { return now.order != proposed.order; }
};

// The proposed order is slower neither over rings nor over trees. Throws Error for a job of one host, for
// hosts and NICs that the fabric does not have, and for rings or trees that it has no way for.
// `request.fabric` has to outlive the result.
HostOrder orderHosts(const HostOrderRequest& request);

}  // namespace xylem
