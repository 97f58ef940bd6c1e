#include "cli/insight/order_json.h"

#include <cmath>

#include "planner/plan/json_value.h"

namespace xylem::cli {
namespace {

Json scoreJson(const TrafficScore& score) {
  return {{"slowdown", score.slowdown},
          {"secondsPerGB", score.time},
          {"uncongestedSecondsPerGB", score.quiet},
          {"busiestCable", score.most},
          {"ninetiethOfCables", score.ninetieth},
          {"medianCable", score.median},
          {"allCables", score.all},
          {"slowingCables", score.slowing},
          {"cables", score.cables}};
}

Json linksJson(const OrderReport& report, const OrderedHosts& hosts, int kind) {
  Json links = Json::array();
  for (const BusyLink& busy : busyLinks(report, hosts, kind)) {
    Json crossings = Json::array();
    for (const Crossing& crossing : busy.crossings)
      crossings.push_back(
          {{"from", report.order.sites->name(hosts.order[static_cast<std::size_t>(crossing.from)])},
           {"to", report.order.sites->name(hosts.order[static_cast<std::size_t>(crossing.to)])},
           {"bytes", crossing.bytes}});
    links.push_back({{"from", busy.link->from},
                     {"to", busy.link->to},
                     {"cables", busy.link->cables},
                     {"bandwidth", busy.link->bandwidth},
                     {"bytesPerCable", busy.bytes},
                     {"slowdown", busy.slowdown},
                     {"crossings", std::move(crossings)}});
  }
  return links;
}

Json hostsJson(const OrderReport& report, const OrderedHosts& hosts) {
  Json json = {{"hosts", namesInOrder(report.order, hosts)}, {"ranks", ranksInOrder(report.plan, hosts)}};
  for (int kind = 0; kind < kTrafficKinds; ++kind) {
    Json score = scoreJson(hosts.score[static_cast<std::size_t>(kind)]);
    score["busiestLinks"] = linksJson(report, hosts, kind);
    json[trafficName(kind)] = std::move(score);
  }
  return json;
}

}  // namespace

std::string orderJson(const OrderReport& report) {
  const double over = oversubscription(report.fabric);
  std::int64_t cables = 0;
  for (const FabricLink& link : report.fabric.links) cables += link.cables;
  const Json json = {{"format", "xylem-order-1"},
                     {"ranks", report.plan.job().ranks()},
                     {"fabric",
                      {{"file", report.fabric.file},
                       {"switches", report.fabric.switches.size()},
                       {"cables", cables},
                       {"hosts", report.fabric.hosts.size()},
                       {"oversubscription", std::isinf(over) ? Json(nullptr) : Json(over)}}},
                     {"better", report.order.isBetter()},
                     {"allTried", report.order.allTried},
                     {"tried", report.order.tried},
                     {"now", hostsJson(report, report.order.now)},
                     {"proposed", hostsJson(report, report.order.proposed)}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace xylem::cli
