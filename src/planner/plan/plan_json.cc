#include "planner/plan/plan_json.h"

#include <algorithm>
#include <filesystem>

#include "planner/plan/agreement.h"

namespace xylem::plan {

Json settingsJson(const Plan& plan) {
  Json settings = Json::object();
  for (const auto& [name, value] : plan.settings) settings[name] = value;
  return settings;
}

namespace {

Json inputJson(const Plan& plan) {
  Json json = {{"hosts", plan.job().hosts()},
               {"nvls", plan.offered.nvls},
               {"collnet", plan.offered.collnet},
               {"fuse", plan.fused},
               {"settings", settingsJson(plan)}};
  // A plan that names no version is one of the oldest.
  if (!rules::isOldest(*plan.nccl)) json["nccl"] = rules::versionText(plan.nccl->version);
  if (!plan.hostsListed) {
    json["topology"] = plan.groups.front().topology;
    return json;
  }
  json["jobs"] = Json::array();
  for (const HostGroup& group : plan.groups)
    json["jobs"].push_back({{"topology", group.topology},
                            {"count", group.count},
                            {"gpus", group.gpus.empty() ? Json(nullptr) : Json(group.gpus)}});
  return json;
}

Json jobJson(const Plan& plan) {
  const connect::Connections& c = plan.connections;
  return {{"ranks", c.job.ranks()},
          {"nodes", c.nodes.count()},
          {"maxLocalRanks", c.nodes.maxLocalRanks},
          {"minComputeCapability", c.lowestSm},
          {"maxComputeCapability", c.highestSm},
          {"allNvlink", plan.allNvlink},
          {"nvls", c.nvlsHeads > 0},
          {"collnet", c.collnet},
          {"collnetHeads", c.of(0).collnetHeads}};
}

Json groupJson(const Plan& plan, const HostGroup& group) {
  const int first = plan.job().rank(group.firstHost, 0);
  // The file name alone: plans of two machines compare equal wherever their files lie.
  const std::string file = std::filesystem::path(group.topology).filename().string();
  Json json = {{"topology", file}, {"count", group.count}, {"gpus", group.devices}};
  json.update(hostJson(plan.hostOf(first), plan, group.firstHost));
  return json;
}

Json agreementJson(const Plan& plan) {
  const Agreement agreement = agreementOf(plan);
  Json differ = Json::array();
  for (Decided what : agreement.differ) differ.push_back(name(what));
  return {{"consistent", agreement.consistent()}, {"differ", differ}, {"netErrors", agreement.netErrors}};
}

Json modelJson(const tuning::TuningModel& model, Collective collective) {
  Json algorithms = Json::object();
  for (Algorithm algorithm : kAllAlgorithms)
    for (Protocol protocol : kAllProtocols)
      if (model.usable(collective, algorithm, protocol))
        algorithms[name(algorithm)][name(protocol)] = {
            {"latency", number(model.latency[collective][algorithm][protocol])},
            {"bandwidth", number(model.bandwidth[collective][algorithm][protocol])}};
  return algorithms;
}

template <typename T>
Json tableJson(const ByAlgorithm<ByProtocol<T>>& table) {
  Json json = Json::object();
  for (Algorithm algorithm : kAllAlgorithms) json[name(algorithm)] = table[algorithm];
  return json;
}

}  // namespace

Json toJson(const Plan& plan, int rank) {
  Json json;
  json["format"] = "xylem-plan-1";
  json["input"] = inputJson(plan);
  json["job"] = jobJson(plan);
  if (plan.hostsListed) {
    json["hosts"] = Json::array();
    for (const HostGroup& group : plan.groups) json["hosts"].push_back(groupJson(plan, group));
  } else {
    json["host"] = hostJson(plan.hostOf(0), plan, 0);
  }
  json["merged"] = mergedJson(plan.connections);
  json["connections"] = connectionsJson(plan, rank);
  if (plan.hostsListed) json["agreement"] = agreementJson(plan);
  json["tuning"] = tuningJson(plan.tuning[static_cast<std::size_t>(plan.job().viewOf(std::max(rank, 0)))]);
  return json;
}

Json tuningTablesJson(const tuning::TuningModel& model) {
  Json json;
  for (Collective collective : kAllCollectives)
    json["model"][name(collective)] = modelJson(model, collective);
  json["maxThreads"] = tableJson(model.maxThreads);
  json["threadThresholds"] = tableJson(model.threadThreshold);
  return json;
}

Json choiceJson(const tuning::Choice& choice) {
  Json json = {{"bytes", choice.operation.bytes}};
  if (choice.best() == nullptr) {
    json["error"] = "no algorithm and protocol can run it";
    return json;
  }
  json.update({{"algorithm", name(choice.best()->algorithm)},
               {"protocol", name(choice.best()->protocol)},
               {"time", number(choice.best()->time)},
               {"channels", choice.channels},
               {"warps", choice.warps}});
  return json;
}

Json tuningJson(const tuning::TuningModel& model) {
  Json json = tuningTablesJson(model);
  for (Collective collective : kAllCollectives) {
    Json& list = json["choice"][name(collective)] = Json::array();
    for (std::uint64_t bytes : tuning::choiceSizes())
      list.push_back(choiceJson(tuning::choose(model, {.collective = collective, .bytes = bytes})));
  }
  return json;
}

}  // namespace xylem::plan
