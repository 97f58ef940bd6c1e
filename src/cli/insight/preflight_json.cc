#include "cli/insight/preflight_json.h"

#include "cli/host_kinds.h"
#include "planner/plan/json_value.h"

namespace xylem::cli {
namespace {

// [[0, 7], [16, 23]]: first and last of each run of ascending numbers.
Json runsJson(const std::vector<int>& numbers) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    runs.push_back({numbers[i], numbers[end]});
    i = end + 1;
  }
  return runs;
}

Json kindsJson(const Plan& plan) {
  Json json = Json::array();
  for (const HostKind& kind : hostKinds(plan))
    json.push_back({{"name", kind.name}, {"hosts", runsJson(kind.hosts)}, {"ranks", runsJson(kind.ranks)}});
  return json;
}

// Null: no end.
Json lastJson(std::uint64_t last) { return last >= kMostBytes ? Json(nullptr) : Json(last); }

Json pickJson(const Pick& pick) {
  if (!pick.runs) return nullptr;
  return {{"algorithm", name(pick.algorithm)},
          {"protocol", name(pick.protocol)},
          {"channels", pick.channels},
          {"warps", pick.warps}};
}

Json collectivesJson(const Preflight& result) {
  Json json = Json::array();
  for (const CollectiveMismatch& mismatch : result.collectives) {
    Json byKind = Json::array();
    for (const Pick& pick : mismatch.byView) byKind.push_back(pickJson(pick));
    json.push_back({{"collective", name(mismatch.collective)},
                    {"operands", name(mismatch.operands)},
                    {"firstBytes", mismatch.first},
                    {"lastBytes", lastJson(mismatch.last)},
                    {"byKind", std::move(byKind)}});
  }
  return json;
}

Json transfersJson(const Preflight& result) {
  Json json = Json::array();
  for (const TransferMismatch& mismatch : result.transfers) {
    Json byKind = Json::array();
    for (const TransferSplit& split : mismatch.byView)
      byKind.push_back(
          {{"protocol", name(split.protocol)}, {"parts", split.parts}, {"channels", split.channels}});
    json.push_back({{"firstBytes", mismatch.first},
                    {"lastBytes", lastJson(mismatch.last)},
                    {"byKind", std::move(byKind)}});
  }
  return json;
}

Json causesJson(const Preflight& result) {
  Json json = Json::array();
  for (const Cause& cause : result.causes) {
    Json collectives = Json::array();
    for (Collective collective : cause.collectives) collectives.push_back(name(collective));
    json.push_back({{"value", name(cause.what)},
                    {"byKind", cause.byView},
                    {"connecting", cause.setup},
                    {"collectives", std::move(collectives)},
                    {"sendReceive", cause.transfers}});
  }
  return json;
}

Json timesJson(const PredictedTimes& times) {
  Json json = Json::object();
  for (Collective collective : kAllCollectives)
    for (float time : times[collective]) json[name(collective)].push_back(number(time));
  return json;
}

Json remediesJson(const RemedySearch& search) {
  Json found = Json::array();
  for (const Remedy& remedy : search.found) {
    Json settings = Json::object();
    for (const auto& [name, value] : remedy.settings) settings[name] = value;
    found.push_back({{"settings", std::move(settings)},
                     {"slowdown", remedy.slowdown},
                     {"microseconds", timesJson(remedy.times)}});
  }
  Json json = {{"tried", search.tried}, {"found", std::move(found)}};
  if (search.tried == 0) return json;
  json["bytes"] = costSizes();
  json["microsecondsNow"] = timesJson(search.now);
  return json;
}

Json remarksJson(const Preflight& result) {
  Json json = Json::array();
  for (const Remark& remark : result.remarks)
    json.push_back({{"value", name(remark.what)}, {"byKind", remark.byView}, {"job", remark.job}});
  return json;
}

}  // namespace

std::string preflightJson(const Plan& plan, const Preflight& result) {
  Json setup = Json::array();
  for (Setup what : result.setup) setup.push_back(name(what));
  const Json json = {{"format", "xylem-preflight-1"},
                     {"fine", result.isFine()},
                     {"ranks", plan.job().ranks()},
                     {"hosts", plan.job().hosts()},
                     {"nodes", plan.connections.nodes.count()},
                     {"kinds", kindsJson(plan)},
                     {"connecting", std::move(setup)},
                     {"collectives", collectivesJson(result)},
                     {"sendReceive", transfersJson(result)},
                     {"causes", causesJson(result)},
                     {"remedies", remediesJson(result.remedies)},
                     {"ringEndsWithoutNic", result.endsWithoutNic},
                     {"remarks", remarksJson(result)}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace xylem::cli
