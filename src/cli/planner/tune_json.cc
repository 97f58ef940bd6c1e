#include "cli/planner/tune_json.h"

#include "planner/plan/tuning_json.h"
#include "planner/tuning/bus_bandwidth.h"

namespace xylem::cli {
namespace {

Json fullChoiceJson(const TuningModel& model, const Operation& operation) {
  const Choice choice = choose(model, operation);
  Json json = choiceJson(choice);
  if (const Candidate* best = choice.best())
    json["busBandwidth"] = busBandwidth(operation.collective, model.input.ranks, operation.bytes, best->time);
  json["candidates"] = Json::array();
  json["excluded"] = Json::array();
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
  Json tuning = tuningTablesJson(model);
  for (const Collective c : kAllCollectives)
    for (const std::uint64_t size : sizes)
      tuning["choice"][name(c)].push_back(fullChoiceJson(model, {.collective = c, .bytes = size}));
  const Json json = {
      {"format", "xylem-tune-1"},
      {"input", {{"topology", subject.machine}, {"hosts", subject.hosts}, {"settings", settings}}},
      {"tuning", tuning}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace xylem::cli
