#include "insight/why/answer.h"

#include "planner/plan/json_value.h"

namespace xylem::why {
namespace {

plan::Json yesNo(const std::optional<bool>& yes) { return yes ? plan::Json(*yes) : plan::Json(nullptr); }

plan::Json stepJson(const AnswerStep& step) {
  plan::Json inputs = plan::Json::object();
  for (const AnswerInput& input : step.inputs) inputs[input.name] = input.value;
  plan::Json sources = plan::Json::array();
  for (const AnswerSource& source : step.sources)
    sources.push_back({{"file", source.file}, {"line", source.line}, {"element", source.element}});
  const bool moved = step.variable != Setting::kCount;
  return {{"rule", step.rule},
          {"text", step.text},
          {"yes", yesNo(step.yes)},
          {"inputs", std::move(inputs)},
          {"threshold", step.threshold},
          {"variable", moved ? plan::Json(spec(step.variable).name) : plan::Json(nullptr)},
          {"sources", std::move(sources)}};
}

}  // namespace

std::string AnswerStep::input(std::string_view name) const {
  for (const AnswerInput& input : inputs)
    if (input.name == name) return input.value;
  return "";
}

const AnswerStep* Answer::step(std::string_view rule) const {
  for (const AnswerStep& step : steps)
    if (step.rule == rule) return &step;
  return nullptr;
}

plan::Json toJson(const Answer& answer) {
  plan::Json json = {{"format", "xylem-why-1"},
                     {"question", answer.question},
                     {"yes", yesNo(answer.yes)},
                     {"headline", answer.headline}};
  json["steps"] = plan::Json::array();
  for (const AnswerStep& step : answer.steps) json["steps"].push_back(stepJson(step));
  json["tables"] = plan::Json::array();
  for (const AnswerTable& table : answer.tables)
    json["tables"].push_back({{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}});
  json["whatIf"] = plan::Json::array();
  for (const WhatIf& whatIf : answer.whatIfs)
    json["whatIf"].push_back({{"setting", whatIf.setting}, {"outcome", whatIf.outcome}});
  json["versionRules"] = plan::Json::array();
  for (const VersionRule& rule : answer.versionRules)
    json["versionRules"].push_back(
        {{"name", rule.name}, {"since", rule.since}, {"summary", rule.summary}, {"back", rule.back}});
  if (!answer.versionRules.empty()) json["before"] = answer.before;
  json["notes"] = answer.notes;
  return json;
}

}  // namespace xylem::why
