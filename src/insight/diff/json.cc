#include "insight/diff/json.h"

#include "planner/plan/json_value.h"

namespace xylem {
namespace {

void addText(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

// What is not there is null.
Json sideJson(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json thingJson(const ChangedThing& thing) {
  Json json = {{"name", thing.name}};
  if (thing.lineA > 0) json["lineA"] = thing.lineA;
  if (thing.lineB > 0) json["lineB"] = thing.lineB;
  return json;
}

Json changeJson(const Change& change) {
  Json json = {{"kind", change.kind}};
  addText(json, "where", change.where);
  addText(json, "what", change.what);
  json["before"] = sideJson(change.before);
  json["after"] = sideJson(change.after);
  addText(json, "whyBefore", change.whyBefore);
  addText(json, "whyAfter", change.whyAfter);
  if (change.outOf > 0) json["outOf"] = change.outOf;
  if (!change.things.empty()) json["things"] = Json::array();
  for (const ChangedThing& thing : change.things) json["things"].push_back(thingJson(thing));
  return json;
}

Json choiceJson(const ChoiceChange& change) {
  Json json = {{"collective", change.collective},
               {"fromBytes", change.fromBytes},
               {"toBytes", change.toBytes},
               {"before", sideJson(change.before)},
               {"after", sideJson(change.after)}};
  if (change.leastRatio > 0) json["timeRatio"] = {change.leastRatio, change.mostRatio};
  return json;
}

}  // namespace

std::string diffToJson(const PlanDiff& diff, const std::string& a, const std::string& b) {
  Json json = {{"format", "xylem-diff-1"}, {"a", a}, {"b", b}, {"samePlan", diff.samePlan()}};
  if (!diff.remarks.empty()) json["remarks"] = diff.remarks;
  const auto add = [&](const char* key, const Changes& changes) {
    for (const Change& change : changes) json[key].push_back(changeJson(change));
  };
  add("asked", diff.asked);
  add("machine", diff.machine);
  add("order", diff.order);
  add("links", diff.links);
  add("ranks", diff.ranks);
  add("paths", diff.paths);
  add("decisions", diff.decisions);
  add("channels", diff.channels);
  add("connections", diff.connections);
  for (const ChoiceChange& change : diff.choices) json["choices"].push_back(choiceJson(change));
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace xylem
