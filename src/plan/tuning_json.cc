#include "plan/tuning_json.h"

#include "tuning/choice.h"

namespace xylem {
namespace {

// Sizes for which the choice is listed, in bytes.
constexpr std::uint64_t kSmallest = 8;
constexpr std::uint64_t kFactor = 8;
constexpr std::uint64_t kLargest = std::uint64_t{8} << 30;

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

Json choiceJson(const TuningModel& model, Collective collective, std::uint64_t bytes) {
  const Choice choice = choose(model, {.collective = collective, .bytes = bytes});
  if (choice.best() == nullptr) return {{"bytes", bytes}, {"error", "no algorithm and protocol can run it"}};
  return {{"bytes", bytes},
          {"algorithm", name(choice.best()->algorithm)},
          {"protocol", name(choice.best()->protocol)},
          {"time", number(choice.best()->time)},
          {"channels", choice.channels},
          {"warps", choice.warps}};
}

}  // namespace

Json tuningJson(const TuningModel& model) {
  Json json;
  for (Collective collective : kAllCollectives)
    json["model"][name(collective)] = modelJson(model, collective);
  for (Algorithm algorithm : kAllAlgorithms) {
    json["maxThreads"][name(algorithm)] = model.maxThreads[algorithm];
    json["threadThresholds"][name(algorithm)] = model.threadThreshold[algorithm];
  }
  for (Collective collective : kAllCollectives) {
    Json& list = json["choice"][name(collective)] = Json::array();
    for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= kFactor)
      list.push_back(choiceJson(model, collective, bytes));
  }
  return json;
}

}  // namespace xylem
