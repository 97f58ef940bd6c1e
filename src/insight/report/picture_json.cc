#include "insight/report/picture_json.h"

#include <algorithm>
#include <map>

#include "insight/why/answer.h"
#include "planner/plan/json_value.h"

namespace xylem::report {
namespace {

std::string sourceText(const why::AnswerSource& source) {
  if (source.element.empty()) return "";
  return source.line > 0 ? fmt::format("{}:{}  {}", source.file, source.line, source.element)
                         : source.element;
}

// The outcome of a rule as one paragraph.
std::string reasonText(const why::AnswerStep& step) {
  std::string text = step.text;
  if (!step.threshold.empty()) text += fmt::format("; limit {}", step.threshold);
  if (step.variable != Setting::kCount) text += fmt::format("; {} moves it", spec(step.variable).name);
  return text;
}

plan::Json nodesJson(const HostPicture& host) {
  plan::Json nodes = plan::Json::array();
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const PictureNode& node = host.nodes[i];
    nodes.push_back({{"type", topology::name(host.system.type(static_cast<topology::NodeId>(i)))},
                     {"label", node.label},
                     {"detail", node.detail},
                     {"used", node.used},
                     {"elsewhere", node.elsewhere},
                     {"source", sourceText(node.source)}});
  }
  return nodes;
}

plan::Json linksJson(const HostPicture& host) {
  plan::Json links = plan::Json::array();
  for (const PictureLink& link : host.links)
    links.push_back({{"a", link.a},
                     {"b", link.b},
                     {"type", topology::name(link.type)},
                     {"bandwidth", {plan::number(link.bandwidth[0]), plan::number(link.bandwidth[1])}},
                     {"source", sourceText(link.source)}});
  return links;
}

plan::Json legJson(const PictureLeg& leg) {
  plan::Json hops = plan::Json::array(), takes = plan::Json::array();
  for (const LaneOfLink& hop : leg.hops) hops.push_back({hop.link, hop.lane});
  for (const auto& [lane, amount] : leg.takes) takes.push_back({lane.link, lane.lane, plan::number(amount)});
  return {{"from", leg.from},
          {"to", leg.to},
          {"type", paths::name(leg.type)},
          {"bandwidth", plan::number(leg.bandwidth)},
          {"carries", plan::number(leg.carries)},
          {"hops", std::move(hops)},
          {"takes", std::move(takes)}};
}

plan::Json graphJson(const PictureGraph& graph) {
  plan::Json channels = plan::Json::array();
  for (const auto& legs : graph.channels) {
    plan::Json& list = channels.emplace_back(plan::Json::array());
    for (const PictureLeg& leg : legs) list.push_back(legJson(leg));
  }
  plan::Json full = plan::Json::array();
  for (const FullLane& one : graph.full)
    full.push_back({one.lane.link, one.lane.lane, plan::number(one.left), plan::number(one.wanted)});
  plan::Json used = plan::Json::array();
  for (const auto& lanes : graph.used) used.push_back({plan::number(lanes[0]), plan::number(lanes[1])});
  return {{"name", search::name(graph.kind)},
          {"pattern", search::name(graph.pattern)},
          {"bwIntra", plan::number(graph.bwIntra)},
          {"bwInter", plan::number(graph.bwInter)},
          {"typeIntra", paths::name(graph.typeIntra)},
          {"typeInter", paths::name(graph.typeInter)},
          {"fallback", graph.fallback},
          {"channels", std::move(channels)},
          {"used", std::move(used)},
          {"full", std::move(full)}};
}

plan::Json reachJson(const ReachMatrix& reach) {
  std::map<std::string, std::size_t> known;
  plan::Json reasons = plan::Json::array(), cells = plan::Json::array();
  for (std::size_t i = 0; i < reach.cells.size(); ++i) {
    if (i % reach.columns.size() == 0) cells.push_back(plan::Json::array());
    const ReachCell& cell = reach.cells[i];
    if (cell.way.empty()) {
      cells.back().push_back(nullptr);
      continue;
    }
    plan::Json numbers = plan::Json::array();
    for (const why::AnswerStep& step : cell.reasons) {
      const auto [found, isNew] = known.emplace(reasonText(step), reasons.size());
      if (isNew) reasons.push_back(found->first);
      numbers.push_back(found->second);
    }
    cells.back().push_back({{"way", cell.way},
                            {"direct", cell.direct},
                            {"type", paths::name(cell.type)},
                            {"bandwidth", plan::number(cell.bandwidth)},
                            {"reasons", std::move(numbers)}});
  }
  return {{"rows", reach.rows},
          {"columns", reach.columns},
          {"gpusLeftOut", reach.gpusLeftOut},
          {"reasons", std::move(reasons)},
          {"cells", std::move(cells)}};
}

plan::Json hostJson(const HostPicture& host) {
  plan::Json graphs = plan::Json::array();
  for (const PictureGraph& graph : host.graphs) graphs.push_back(graphJson(graph));
  return {{"title", host.title},      {"rank", host.rank},           {"nodes", nodesJson(host)},
          {"links", linksJson(host)}, {"graphs", std::move(graphs)}, {"reach", reachJson(host.reach)}};
}

plan::Json jobJson(const PictureJob& job) {
  plan::Json json = {{"ranks", job.ranks},       {"nodes", job.nodes},     {"hosts", job.hosts},
                     {"channels", job.channels}, {"leftOut", job.leftOut}, {"nodeOfRank", job.nodeOfRank}};
  json["rings"] = plan::Json::array();
  for (const PictureRing& ring : job.rings)
    json["rings"].push_back({{"channels", ring.channels}, {"ranks", ring.ranks}});
  json["crossings"] = plan::Json::array();
  for (const RingCrossing& crossing : job.crossings)
    json["crossings"].push_back({{"ring", crossing.ring},
                                 {"from", crossing.from},
                                 {"to", crossing.to},
                                 {"way", crossing.way},
                                 {"fromNet", crossing.fromNet},
                                 {"toNet", crossing.toNet},
                                 {"fromGdr", crossing.fromGdr},
                                 {"toGdr", crossing.toGdr}});
  json["trees"] = plan::Json::array();
  for (const PictureTree& tree : job.trees) {
    plan::Json up = plan::Json::array(), depth = plan::Json::array();
    for (const TreePlaceOfRank& place : tree.ranks) {
      up.push_back(place.up);
      depth.push_back(place.depth);
    }
    json["trees"].push_back(
        {{"channels", tree.channels}, {"up", std::move(up)}, {"depth", std::move(depth)}});
  }
  return json;
}

plan::Json curvesJson(const CollectiveCurves& tuning) {
  plan::Json json = {{"collective", name(tuning.collective)}};
  json["curves"] = plan::Json::array();
  for (const Curve& curve : tuning.curves) {
    plan::Json time = plan::Json::array(), bus = plan::Json::array();
    for (const CurvePoint& point : curve.points) {
      time.push_back(plan::number(point.time));
      bus.push_back(plan::number(point.busBandwidth));
    }
    json["curves"].push_back({{"name", curve.name}, {"time", std::move(time)}, {"bus", std::move(bus)}});
  }
  json["stretches"] = plan::Json::array();
  for (const CurveStretch& stretch : tuning.stretches)
    json["stretches"].push_back({{"first", stretch.first},
                                 {"last", stretch.last},
                                 {"curve", stretch.curve},
                                 {"channels", {stretch.leastChannels, stretch.mostChannels}},
                                 {"firstTime", plan::number(stretch.firstTime)},
                                 {"lastTime", plan::number(stretch.lastTime)}});
  json["excluded"] = tuning.excluded;
  return json;
}

plan::Json originJson(const Origin& origin) {
  plan::Json files = plan::Json::array();
  for (const Origin::File& file : origin.files) files.push_back({{"name", file.name}, {"sha256", file.hash}});
  return {{"command", origin.command},
          {"version", origin.version},
          {"date", origin.date},
          {"files", std::move(files)}};
}

plan::Json upgradeJson(const VersionChange& change) {
  plan::Json causes = plan::Json::array(), times = plan::Json::array();
  for (const VersionChange::Cause& cause : change.causes)
    causes.push_back({{"name", cause.name},
                      {"since", cause.since},
                      {"summary", cause.summary},
                      {"back", cause.back},
                      {"parts", cause.parts}});
  for (const VersionChange::Time& time : change.times)
    times.push_back({{"bytes", time.bytes}, {"before", time.before}, {"after", time.after}});
  return {{"from", change.from},
          {"to", change.to},
          {"causes", std::move(causes)},
          {"times", std::move(times)},
          {"error", change.error}};
}

}  // namespace

plan::Json toJson(const Picture& picture) {
  plan::Json json = {{"format", "xylem-picture-1"}, {"title", picture.title}, {"summary", picture.summary}};
  json["origin"] = originJson(picture.origin);
  json["assumed"] = picture.origin.assumptions;
  json["warnings"] = picture.origin.warnings;
  json["settings"] = plan::Json::object();
  for (const auto& [name, value] : picture.settings) json["settings"][name] = value;
  json["hosts"] = plan::Json::array();
  for (const HostPicture& host : picture.hosts) json["hosts"].push_back(hostJson(host));
  json["job"] = jobJson(picture.job);
  json["sizes"] = picture.sizes;
  json["tuning"] = plan::Json::array();
  for (const CollectiveCurves& tuning : picture.tuning) json["tuning"].push_back(curvesJson(tuning));
  if (!picture.upgrade.from.empty()) json["upgrade"] = upgradeJson(picture.upgrade);
  json["optimality"] = plan::Json::array();
  for (const Optimality& one : picture.optimality)
    json["optimality"].push_back({{"what", one.what},
                                  {"achieved", plan::number(one.achieved)},
                                  {"bound", plan::number(one.bound)},
                                  {"cut", one.cut}});
  json["answers"] = plan::Json::array();
  for (const why::Answer& answer : picture.answers) json["answers"].push_back(why::toJson(answer));
  return json;
}

}  // namespace xylem::report
