#include "insight/why/answer.h"

namespace xylem {

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

}  // namespace xylem
