#pragma once
// Judges the order of a job's hosts on a fabric and proposes a better one.
//
//   HostOrder order = orderHosts({plan, fabric, {"h0", "h1", "h2", "h3"}});
//   order.now.score[kRingTraffic].slowdown, order.proposed.score[kRingTraffic].slowdown
//   for (int host : order.proposed.order) ... order.attachments->name(host) ...
//
// NCCL joins hosts in the order of ranks, so that order decides which hosts are neighbours in rings and
// trees. Each order is judged by the rings and trees that the planner makes of it.

#include <memory>
#include <string>
#include <vector>

#include "insight/fabric/attachments.h"
#include "insight/fabric/fabric.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/order_search.h"
#include "insight/fabric/score.h"
#include "insight/fabric/traffic.h"
#include "planner/plan/planner.h"

namespace xylem::fabric {

struct HostOrderRequest {
  const plan::Plan& plan;
  const Fabric& fabric;
  std::vector<std::string> hosts;  // by host of the plan: its name in the fabric
  plan::Placement placement = plan::Placement::kBlocks;
  bool placedByHand = false;  // if PlanRequest::hostOfRank was given
  SearchLimits limits = {};
};

// An order of hosts, the traffic of the job in that order, and its score.
struct OrderedHosts {
  std::vector<int> order;  // by place in the new order: the host of the plan
  Traffic traffic;
  Score score;
};

struct HostOrder {
  std::unique_ptr<FabricGraph> network;
  std::unique_ptr<Attachments> attachments;
  OrderedHosts now, proposed;  // equal if the search found nothing better
  bool allTried = false;       // every order was tried: none is better than the proposed one
  long long tried = 0;         // orders that were compared

  bool isBetter() const { return now.order != proposed.order; }
};

// The proposed order is never slower than the given one, neither over rings nor over trees. Throws Error for
// a job of one host, for hosts or NICs that the fabric lacks, and if the fabric has no path that a ring or
// tree needs. `request.fabric` has to outlive the result.
HostOrder orderHosts(const HostOrderRequest& request);

}  // namespace xylem::fabric
