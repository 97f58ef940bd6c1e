#include "cli/tune_json.h"

#include "plan/json_value.h"
#include "tuning/bus_bandwidth.h"
#include "tuning/choice.h"

namespace xylem::cli {
namespace {

Json modelJson(const TuningModel& model) {
  Json json = Json::object();
  for (const Collective c : kAllCollectives) {
    json[name(c)] = Json::object();
    for (const Algorithm a : kAllAlgorithms)
      for (const Protocol p : kAllProtocols)
        if (model.usable(c, a, p))
          json[name(c)][name(a)][name(p)] = {{"latency", number(model.latency[c][a][p])},
                                             {"bandwidth", number(model.bandwidth[c][a][p])}};
  }
  return json;
}

template <typename T>
Json tableJson(const ByAlgorithm<ByProtocol<T>>& table) {
  Json json = Json::object();
  for (const Algorithm a : kAllAlgorithms)
    for (const T value : table[a]) json[name(a)].push_back(value);
  return json;
}

Json choiceJson(const TuningModel& model, const Operation& operation) {
  const Choice choice = choose(model, operation);
  Json json = {{"bytes", operation.bytes}, {"candidates", Json::array()}, {"excluded", Json::array()}};
  if (const Candidate* best = choice.best()) {
    json["algorithm"] = name(best->algorithm);
    json["protocol"] = name(best->protocol);
    json["time"] = number(best->time);
    json["channels"] = choice.channels;
    json["warps"] = choice.warps;
    json["busBandwidth"] = busBandwidth(operation.collective, model.input.ranks, operation.bytes, best->time);
  }
  for (const Candidate& candidate : choice.ranking) {
    Json entry = {{"algorithm", name(candidate.algorithm)}, {"protocol", name(candidate.protocol)}};
    const bool runs = candidate.excluded == Exclusion::kNone;
    if (runs)
      entry["time"] = number(candidate.time);
    else
      entry["reason"] = explain(candidate, operation, model);
    json[runs ? "candidates" : "excluded"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::string tuneJson(const TuningModel& model, std::span<const std::uint64_t> sizes,
                     const TuneSubject& subject) {
  Json settings = Json::object();
  for (const auto& [name, value] : subject.settings) settings[name] = value;
  Json choices = Json::object();
  for (const Collective c : kAllCollectives)
    for (const std::uint64_t size : sizes)
      choices[name(c)].push_back(choiceJson(model, {.collective = c, .bytes = size}));
  const Json json = {
      {"format", "xylem-tune-1"},
      {"input", {{"topology", subject.machine}, {"hosts", subject.hosts}, {"settings", settings}}},
      {"tuning",
       {{"model", modelJson(model)},
        {"maxThreads", tableJson(model.maxThreads)},
        {"threadThresholds", tableJson(model.threadThreshold)},
        {"choice", choices}}}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace xylem::cli
