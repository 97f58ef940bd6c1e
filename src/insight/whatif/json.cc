#include "planner/plan/json_value.h"
#include "insight/whatif/repair.h"

namespace xylem {
namespace {

Json scoresJson(const Scores& scores) {
  Json json = Json::object();
  for (std::size_t i = 0; i < scores.size(); ++i) json[scoreKinds()[i].key] = scores[i];
  return json;
}

Json netJson(const System& system, const NetState& state) {
  Json json = {{"net", system.name(state.net)},
               {"device", system.net(state.net).name},
               {"used", state.used},
               {"nearest", nullptr},
               {"type", name(state.type)},
               {"bandwidth", state.bandwidth},
               {"gdr", state.gdr.empty()}};
  if (state.nearestGpu != kNoNode) json["nearest"] = system.name(state.nearestGpu);
  if (state.narrowest != kNoLink) {
    const Link& link = system.link(state.narrowest);
    json["narrowest"] = {{"from", system.name(link.from)},
                         {"to", system.name(link.to)},
                         {"bandwidth", link.bandwidth},
                         {"nets", state.sharers}};
  }
  if (state.twin != kNoNode) json["samePortAs"] = system.name(state.twin);
  if (!state.gdr.empty()) json["whyNoGdr"] = state.gdr;
  return json;
}

}  // namespace

std::string repairJson(const RepairSearch& search, const std::string& machine) {
  const Plan& plan = search.before();
  Json nets = Json::array();
  for (const NetState& state : netStates(plan)) nets.push_back(netJson(plan.hostOf(0).system(), state));
  Json found = Json::array();
  for (const Repair& repair : search.found())
    found.push_back({{"edit", repair.candidate.edit},
                     {"what", repair.candidate.what},
                     {"todo", repair.candidate.todo},
                     {"netsUsed", repair.netsUsed},
                     {"scores", scoresJson(repair.after)}});
  const Json json = {{"format", "xylem-repair-1"},
                     {"machine", machine},
                     {"ranks", plan.job().ranks()},
                     {"hosts", plan.job().hosts()},
                     {"scores", scoresJson(search.scores())},
                     {"netsUsed", netsUsed(plan)},
                     {"nets", std::move(nets)},
                     {"tried", search.tried()},
                     {"found", std::move(found)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xylem
