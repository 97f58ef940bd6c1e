#include "cli/insight/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/table.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// Of long tables the first and last rows are shown; all are in the JSON.
constexpr std::size_t kFirstRows = 20;
constexpr std::size_t kLastRows = 6;
// Inputs that together are longer than this stand on lines of their own.
constexpr std::size_t kMostColumns = 90;
// Of the places a rule looked at.
constexpr std::size_t kMostSources = 4;

std::string heading(const Terminal& screen, const std::string& text) {
  return '\n' + screen.paint(Style::kBold, text) + '\n';
}

// The file's name alone: the command line says where it is.
std::string placeText(const AnswerSource& source) {
  return toString(SourceLocation{std::filesystem::path(source.file).filename().string(), source.line});
}

void addLine(Table& table, const std::string& what, const std::string& text, Style style = Style::kPlain) {
  if (!text.empty()) table.add({{what, Style::kDim}, {text, style}});
}

std::string stepText(const AnswerStep& step, const Terminal& screen) {
  const char* mark = !step.yes ? "-" : *step.yes ? "+" : "x";
  const Style style = !step.yes ? Style::kPlain : *step.yes ? Style::kGreen : Style::kRed;
  Table head({{""}, {""}});
  head.add({{mark, style}, {step.text}});
  std::vector<std::string> inputs;
  for (const AnswerInput& input : step.inputs)
    inputs.push_back(fmt::format("{}: {}", input.name, input.value));
  std::string together = fmt::format("{}", fmt::join(inputs, "; "));
  if (together.size() <= kMostColumns) inputs = {std::move(together)};
  Table table({{""}, {""}});
  addLine(table, "rule", step.rule);
  for (std::size_t i = 0; i < inputs.size(); ++i) addLine(table, i == 0 ? "inputs" : "", inputs[i]);
  addLine(table, "threshold", step.threshold);
  if (step.variable != Setting::kCount) addLine(table, "variable", spec(step.variable).name, Style::kCyan);
  for (std::size_t i = 0; i < step.sources.size() && i < kMostSources; ++i)
    addLine(table, i == 0 ? "from" : "",
            fmt::format("{}  {}", placeText(step.sources[i]), step.sources[i].element), Style::kDim);
  if (step.sources.size() > kMostSources)
    addLine(table, "", fmt::format("and {} more", step.sources.size() - kMostSources));
  return head.text(screen, 2) + table.text(screen, 5);
}

std::string tableText(const AnswerTable& answer, const Terminal& screen) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < answer.columns.size(); ++i) {
    const auto isNumber = [&](const std::vector<std::string>& row) {
      return !row[i].empty() && std::isdigit(static_cast<unsigned char>(row[i].front())) != 0;
    };
    const bool right = !answer.rows.empty() && std::all_of(answer.rows.begin(), answer.rows.end(), isNumber);
    columns.push_back({answer.columns[i], right ? Align::kRight : Align::kLeft});
  }
  Table table(columns);
  const std::size_t count = answer.rows.size();
  const bool shortened = count > kFirstRows + kLastRows + 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (shortened && i == kFirstRows) {
      table.add({{"..."}});
      i = count - kLastRows;
    }
    std::vector<Cell> cells;
    for (const std::string& text : answer.rows[i]) cells.push_back({text});
    table.add(std::move(cells));
  }
  std::string title = answer.title;
  if (shortened) title += fmt::format(" ({} of {}; all with --json)", kFirstRows + kLastRows, count);
  return heading(screen, title) + table.text(screen, 2);
}

}  // namespace

std::string answerText(const Answer& answer, const Terminal& screen) {
  std::string text = screen.paint(Style::kBold, answer.headline) + '\n';
  if (!answer.steps.empty()) text += heading(screen, "Why");
  for (const AnswerStep& step : answer.steps) text += stepText(step, screen);
  for (const AnswerTable& table : answer.tables) text += tableText(table, screen);
  if (!answer.whatIfs.empty()) {
    text += heading(screen, "What if");
    Table table({{""}, {""}});
    for (const WhatIf& whatIf : answer.whatIfs) table.add({{whatIf.setting, Style::kCyan}, {whatIf.outcome}});
    text += table.text(screen, 2);
  }
  if (!answer.notes.empty()) {
    text += heading(screen, "Notes");
    Table table({{""}});
    for (const std::string& note : answer.notes) table.add({{note}});
    text += table.text(screen, 2);
  }
  return text;
}

}  // namespace xylem::cli
