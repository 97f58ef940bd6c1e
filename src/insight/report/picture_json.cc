#include "insight/report/picture_json.h"

#include <algorithm>
#include <map>

#include "planner/plan/json_value.h"
#include "insight/why/answer.h"

namespace xylem {
namespace {

std::string sourceText(const AnswerSource& source) {
  if (source.element.empty()) return "";
  return source.line > 0 ? fmt::format("{}:{}  {}", source.file, source.line, source.element)
                         : source.element;
}

// The outcome of a rule as one paragraph.
std::string reasonText(const AnswerStep& step) {
  std::string text = step.text;
  if (!step.threshold.empty()) text += fmt::format("; limit {}", step.threshold);
  if (step.variable != Setting::kCount) text += fmt::format("; {} moves it", spec(step.variable).name);
  return text;
}

Json nodesJson(const HostPicture& host) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const PictureNode& node = host.nodes[i];
    nodes.push_back({{"type", name(host.system.type(static_cast<NodeId>(i)))},
                     {"label", node.label},
                     {"detail", node.detail},
                     {"used", node.used},
                     {"source", sourceText(node.source)}});
  }
  return nodes;
}

Json linksJson(const HostPicture& host) {
  Json links = Json::array();
  for (const PictureLink& link : host.links)
    links.push_back({{"a", link.a},
                     {"b", link.b},
                     {"type", name(link.type)},
                     {"bandwidth", {number(link.bandwidth[0]), number(link.bandwidth[1])}},
                     {"source", sourceText(link.source)}});
  return links;
}

Json legJson(const PictureLeg& leg) {
  Json hops = Json::array(), takes = Json::array();
  for (const LaneOfLink& hop : leg.hops) hops.push_back({hop.link, hop.lane});
  for (const auto& [lane, amount] : leg.takes) takes.push_back({lane.link, lane.lane, number(amount)});
  return {{"from", leg.from},
          {"to", leg.to},
          {"type", name(leg.type)},
          {"bandwidth", number(leg.bandwidth)},
          {"carries", number(leg.carries)},
          {"hops", std::move(hops)},
          {"takes", std::move(takes)}};
}

Json graphJson(const PictureGraph& graph) {
  Json channels = Json::array();
  for (const auto& legs : graph.channels) {
    Json& list = channels.emplace_back(Json::array());
    for (const PictureLeg& leg : legs) list.push_back(legJson(leg));
  }
  Json full = Json::array();
  for (const FullLane& one : graph.full)
    full.push_back({one.lane.link, one.lane.lane, number(one.left), number(one.wanted)});
  Json used = Json::array();
  for (const auto& lanes : graph.used) used.push_back({number(lanes[0]), number(lanes[1])});
  return {{"name", name(graph.kind)},
          {"pattern", name(graph.pattern)},
          {"bwIntra", number(graph.bwIntra)},
          {"bwInter", number(graph.bwInter)},
          {"typeIntra", name(graph.typeIntra)},
          {"typeInter", name(graph.typeInter)},
          {"fallback", graph.fallback},
          {"channels", std::move(channels)},
          {"used", std::move(used)},
          {"full", std::move(full)}};
}

Json reachJson(const ReachMatrix& reach) {
  std::map<std::string, std::size_t> known;
  Json reasons = Json::array(), cells = Json::array();
  for (std::size_t i = 0; i < reach.cells.size(); ++i) {
    if (i % reach.columns.size() == 0) cells.push_back(Json::array());
    const ReachCell& cell = reach.cells[i];
    if (cell.way.empty()) {
      cells.back().push_back(nullptr);
      continue;
    }
    Json numbers = Json::array();
    for (const AnswerStep& step : cell.reasons) {
      const auto [found, isNew] = known.emplace(reasonText(step), reasons.size());
      if (isNew) reasons.push_back(found->first);
      numbers.push_back(found->second);
    }
    cells.back().push_back({{"way", cell.way},
                            {"direct", cell.direct},
                            {"type", name(cell.type)},
                            {"bandwidth", number(cell.bandwidth)},
                            {"reasons", std::move(numbers)}});
  }
  return {{"rows", reach.rows},
          {"columns", reach.columns},
          {"gpusLeftOut", reach.gpusLeftOut},
          {"reasons", std::move(reasons)},
          {"cells", std::move(cells)}};
}

Json hostJson(const HostPicture& host) {
  Json graphs = Json::array();
  for (const PictureGraph& graph : host.graphs) graphs.push_back(graphJson(graph));
  return {{"title", host.title},      {"rank", host.rank},           {"nodes", nodesJson(host)},
          {"links", linksJson(host)}, {"graphs", std::move(graphs)}, {"reach", reachJson(host.reach)}};
}

Json jobJson(const PictureJob& job) {
  Json json = {{"ranks", job.ranks},       {"nodes", job.nodes},     {"hosts", job.hosts},
               {"channels", job.channels}, {"leftOut", job.leftOut}, {"nodeOfRank", job.nodeOfRank}};
  json["rings"] = Json::array();
  for (const PictureRing& ring : job.rings)
    json["rings"].push_back({{"channels", ring.channels}, {"ranks", ring.ranks}});
  json["crossings"] = Json::array();
  for (const RingCrossing& crossing : job.crossings)
    json["crossings"].push_back({{"ring", crossing.ring},
                                 {"from", crossing.from},
                                 {"to", crossing.to},
                                 {"fromNet", crossing.fromNet},
                                 {"toNet", crossing.toNet},
                                 {"fromGdr", crossing.fromGdr},
                                 {"toGdr", crossing.toGdr}});
  json["trees"] = Json::array();
  for (const PictureTree& tree : job.trees) {
    Json up = Json::array(), depth = Json::array();
    for (const TreePlaceOfRank& place : tree.ranks) {
      up.push_back(place.up);
      depth.push_back(place.depth);
    }
    json["trees"].push_back(
        {{"channels", tree.channels}, {"up", std::move(up)}, {"depth", std::move(depth)}});
  }
  return json;
}

Json curvesJson(const CollectiveCurves& tuning) {
  Json json = {{"collective", name(tuning.collective)}};
  json["curves"] = Json::array();
  for (const Curve& curve : tuning.curves) {
    Json time = Json::array(), bus = Json::array();
    for (const CurvePoint& point : curve.points) {
      time.push_back(number(point.time));
      bus.push_back(number(point.busBandwidth));
    }
    json["curves"].push_back({{"name", curve.name}, {"time", std::move(time)}, {"bus", std::move(bus)}});
  }
  json["stretches"] = Json::array();
  for (const CurveStretch& stretch : tuning.stretches)
    json["stretches"].push_back({{"first", stretch.first},
                                 {"last", stretch.last},
                                 {"curve", stretch.curve},
                                 {"channels", {stretch.leastChannels, stretch.mostChannels}},
                                 {"firstTime", number(stretch.firstTime)},
                                 {"lastTime", number(stretch.lastTime)}});
  json["excluded"] = tuning.excluded;
  return json;
}

}  // namespace

std::string pictureJson(const Picture& picture) {
  Json json = {{"format", "xylem-picture-1"}, {"title", picture.title}, {"summary", picture.summary}};
  json["settings"] = Json::object();
  for (const auto& [name, value] : picture.settings) json["settings"][name] = value;
  json["hosts"] = Json::array();
  for (const HostPicture& host : picture.hosts) json["hosts"].push_back(hostJson(host));
  json["job"] = jobJson(picture.job);
  json["sizes"] = picture.sizes;
  json["tuning"] = Json::array();
  for (const CollectiveCurves& tuning : picture.tuning) json["tuning"].push_back(curvesJson(tuning));
  json["optimality"] = Json::array();
  for (const Optimality& one : picture.optimality)
    json["optimality"].push_back({{"what", one.what},
                                  {"achieved", number(one.achieved)},
                                  {"bound", number(one.bound)},
                                  {"cut", one.cut}});
  json["answers"] = Json::array();
  for (const Answer& answer : picture.answers) json["answers"].push_back(toJson(answer));
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace xylem
