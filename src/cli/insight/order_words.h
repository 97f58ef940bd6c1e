#pragma once
// What the text and the JSON of `xylem order` have in common.

#include <string>
#include <vector>

#include "insight/fabric/host_order.h"

namespace xylem::cli {

// What the command prints of.
struct OrderReport {
  const Plan& plan;
  const Fabric& fabric;
  const HostOrder& order;
  std::string jobName;
  int links = 4;  // busiest ones to show
};

// By place: names of the hosts, and how many ranks each of them has.
std::vector<std::string> namesInOrder(const HostOrder& order, const OrderedHosts& hosts);
std::vector<int> ranksInOrder(const Plan& plan, const OrderedHosts& hosts);

// The most that the NICs at a switch can send for each GB/s that its cables to other switches have; infinite
// if it has none. 0 without hosts.
double oversubscription(const Fabric& fabric);

// A link between switches and who is on it.
struct BusyLink {
  const NetworkLink* link = nullptr;
  double bytes = 0;     // per byte of the AllReduce and cable
  double slowdown = 0;  // how much longer it takes than the hosts; less than 1: it waits for them
  std::vector<Crossing> crossings;
};
std::vector<BusyLink> busyLinks(const OrderReport& report, const OrderedHosts& hosts, int kind);

}  // namespace xylem::cli
