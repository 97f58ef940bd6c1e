#include "planner/plan/tuning_json.h"

#include "planner/tuning/choice.h"

namespace xylem {
namespace {

Json modelJson(const TuningModel& model, Collective collective) {
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

Json tuningTablesJson(const TuningModel& model) {
  Json json;
  for (Collective collective : kAllCollectives)
    json["model"][name(collective)] = modelJson(model, collective);
  json["maxThreads"] = tableJson(model.maxThreads);
  json["threadThresholds"] = tableJson(model.threadThreshold);
  return json;
}

Json choiceJson(const Choice& choice) {
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

Json tuningJson(const TuningModel& model) {
  Json json = tuningTablesJson(model);
  for (Collective collective : kAllCollectives) {
    Json& list = json["choice"][name(collective)] = Json::array();
    for (std::uint64_t bytes : choiceSizes())
      list.push_back(choiceJson(choose(model, {.collective = collective, .bytes = bytes})));
  }
  return json;
}

}  // namespace xylem
