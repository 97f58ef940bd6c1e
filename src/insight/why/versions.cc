#include "insight/why/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"

namespace xylem::why {
namespace {

// The part of a text that is compared: all but the numbers of path types ("distance 7 > 4", "PXB (4)"), which a version with more
// types counts differently, and but the limit ("the path is PIX, within P2C"), which decides nothing by itself.
std::string comparable(std::string_view text) {
  for (const std::string_view limit : {", within ", ", farther than "})
    text = text.substr(0, text.find(limit));
  constexpr std::string_view kDistance = "distance ";
  std::string kept;
  bool skips = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with(kDistance) || rest.starts_with('(')) skips = true;
    const bool number = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!skips || !number) kept += text[i];
    if (skips && (rest.starts_with(')') || rest.starts_with(','))) skips = false;
  }
  return kept;
}

// The parts in which two answers must agree to be the same.
std::vector<std::string> decided(const Answer& answer) {
  std::vector<std::string> parts;
  // Questions about yes or no are compared by their steps: a headline names one reason of several.
  if (!answer.yes) parts.push_back(comparable(answer.headline));
  for (const AnswerStep& step : answer.steps) {
    if (step.yes) parts.push_back(step.rule + (*step.yes ? ": yes" : ": no"));
    for (const char* input : {"relay", "farthest link"}) parts.push_back(step.input(input));
  }
  const bool lines = answer.question.starts_with("rank");
  for (const AnswerStep& step : answer.steps)
    if (lines) parts.push_back(step.text);
  // Answers about all GPUs are tables.
  const bool all = answer.question == "gdr" || answer.question == "nic" || answer.question == "p2p";
  for (const AnswerTable& table : answer.tables)
    for (const auto& row : table.rows)
      for (const std::string& cell : row)
        if (all) parts.push_back(comparable(cell));
  return parts;
}

// The first part of an answer that another one with the same headline does not have.
std::string differenceOf(const Answer& answer, const Answer& other) {
  for (std::size_t t = 0; t < answer.tables.size(); ++t) {
    const AnswerTable& table = answer.tables[t];
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const bool has = t < other.tables.size() && i < other.tables[t].rows.size();
      if (has && other.tables[t].rows[i] == table.rows[i]) continue;
      std::string text;
      for (std::size_t cell = 0; cell < table.rows[i].size(); ++cell)
        if (!table.rows[i][cell].empty())
          text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", table.columns[cell], table.rows[i][cell]);
      return text;
    }
  }
  for (const AnswerStep& step : answer.steps) {
    const bool has = std::ranges::any_of(
        other.steps, [&](const AnswerStep& one) { return one.rule == step.rule && one.text == step.text; });
    if (!has) return step.text;
  }
  return answer.headline;
}

}  // namespace

void addVersionRules(Answer& answer, const plan::PlanRequest& request, const Settings& settings,
                     const std::function<Answer(const plan::Plan&)>& ask) {
  const rules::Version version = plan::rulesFor(request, settings)->version;
  const rules::Version oldest = rules::kKnownVersions.front();
  const std::vector<std::string> now = decided(answer);
  const auto answerBy = [&](std::span<const rules::Change* const> changes) {
    plan::PlanRequest older = request;
    older.nccl = rules::rulesWith(oldest, changes);
    try {
      return ask(plan::planJob(older, settings));
    } catch (const Error& error) {
      Answer failed;
      failed.headline = error.what();
      return failed;
    }
  };
  const Answer before = answerBy({});
  if (decided(before) == now) return;
  const auto causes = rules::fewestOf(rules::changesBetween(oldest, version),
                                      [&](auto changes) { return decided(answerBy(changes)) == now; });
  answer.before = before.headline == answer.headline ? differenceOf(before, answer) : before.headline;
  for (const rules::Change* change : causes)
    answer.versionRules.push_back(
        {change->name, rules::versionText(change->since), change->summary, change->back});
}

}  // namespace xylem::why
