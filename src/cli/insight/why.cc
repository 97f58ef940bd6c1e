// xylem why: the reasons for a plan's decisions, as text; insight/why has the JSON.
#include "insight/why/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/error.h"
#include "insight/why/answer.h"
#include "planner/plan/plan_json.h"

namespace xylem::cli {
namespace {

// Long tables are shown by their first and last rows. The JSON has all rows.
constexpr std::size_t kFirstRows = 20;
constexpr std::size_t kLastRows = 6;
// Inputs of a rule that are longer together stand on a line each.
constexpr std::size_t kMaxInputColumns = 90;
// More places that a rule looked at are counted instead of listed.
constexpr std::size_t kMaxSources = 4;

// The file's name without its folder, which stands on the command line, and the line.
std::string placeText(const why::AnswerSource& source) {
  return toString(SourceLocation{std::filesystem::path(source.file).filename().string(), source.line});
}

void addLine(Table& table, const std::string& what, const std::string& text, Style style = Style::kPlain) {
  if (!text.empty()) table.add({{what, Style::kDim}, {text, style}});
}

std::string stepText(const why::AnswerStep& step, const Terminal& screen) {
  const char* mark = !step.yes ? "-" : *step.yes ? "+" : "x";
  const Style style = !step.yes ? Style::kPlain : *step.yes ? Style::kGreen : Style::kRed;
  Table head({{""}, {""}});
  head.add({{mark, style}, {step.text}});
  std::vector<std::string> inputs;
  for (const why::AnswerInput& input : step.inputs)
    inputs.push_back(fmt::format("{}: {}", input.name, input.value));
  std::string together = fmt::format("{}", fmt::join(inputs, "; "));
  if (together.size() <= kMaxInputColumns) inputs = {std::move(together)};
  Table table({{""}, {""}});
  addLine(table, "rule", step.rule);
  for (std::size_t i = 0; i < inputs.size(); ++i) addLine(table, i == 0 ? "inputs" : "", inputs[i]);
  addLine(table, "threshold", step.threshold);
  if (step.variable != Setting::kCount) addLine(table, "variable", spec(step.variable).name, Style::kCyan);
  for (std::size_t i = 0; i < step.sources.size() && i < kMaxSources; ++i)
    addLine(table, i == 0 ? "from" : "",
            fmt::format("{}  {}", placeText(step.sources[i]), step.sources[i].element), Style::kDim);
  if (step.sources.size() > kMaxSources)
    addLine(table, "", fmt::format("and {} more", step.sources.size() - kMaxSources));
  return head.text(screen, 2) + table.text(screen, 5);
}

std::string tableText(const why::AnswerTable& answer, const Terminal& screen) {
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
  return screen.heading(title) + table.text(screen, 2);
}

std::string answerText(const why::Answer& answer, const Terminal& screen) {
  std::string text = screen.paint(Style::kBold, answer.headline) + '\n';
  if (!answer.steps.empty()) text += screen.heading("Why");
  for (const why::AnswerStep& step : answer.steps) text += stepText(step, screen);
  for (const why::AnswerTable& table : answer.tables) text += tableText(table, screen);
  if (!answer.versionRules.empty()) {
    text += screen.heading("Rules that have not always been NCCL's");
    Table table({{""}, {""}, {""}, {""}});
    for (const why::VersionRule& rule : answer.versionRules)
      table.add({{"since " + rule.since, Style::kBold},
                 {rule.name},
                 {rule.summary},
                 {rule.back.empty() ? "" : "back with " + rule.back, Style::kCyan}});
    text += table.text(screen, 2) + "  before: " + answer.before + '\n';
  }
  if (!answer.whatIfs.empty()) {
    text += screen.heading("What if");
    Table table({{""}, {""}});
    for (const why::WhatIf& whatIf : answer.whatIfs)
      table.add({{whatIf.setting, Style::kCyan}, {whatIf.outcome}});
    text += table.text(screen, 2);
  }
  if (!answer.notes.empty()) {
    text += screen.heading("Notes");
    Table table({{""}});
    for (const std::string& note : answer.notes) table.add({{note}});
    text += table.text(screen, 2);
  }
  return text;
}

struct WhyArguments {
  JobInput job;
  std::vector<std::string> question;
  bool json = false;
};

constexpr const char* kWhyExamples =
    R"(GPUs are gpu3 (rank 3 of the job), dev3 or a bus id; NICs nic1, mlx5_1 or a bus id.

Examples:
  xylem why dgxh100.xml gdr                     which GPUs have GPU Direct RDMA with which NICs, and why not
  xylem why dgxh100.xml nic                     who uses which NIC in which channel
  xylem why dgxh100.xml gdr gpu3 nic1           is GPU Direct RDMA allowed, and what decides
  xylem why a40x8-pcie.xml p2p gpu0 gpu5        what two GPUs use to reach each other
  xylem why dgxh100.xml path gpu0 nic5          each link, and which one limits
  xylem why dgx1v.xml channels ring             why so many channels and no more
  xylem why dgxh100.xml --nodes 2 count         how the job's number of channels came about
  xylem why dgxh100.xml --nodes 4 algo all_reduce 1M
                                                every algorithm and protocol with its time
  xylem why dgxh100.xml --nodes 2 nic gpu4      which NICs a GPU uses, by whose proxy
  xylem why dgxh100.xml --nodes 2 rank 3        what NCCL's "Trees [0] ..." line says
  NCCL_NET_GDR_LEVEL=PIX xylem why dgxh100.xml gdr gpu3 nic1
                                                the same under a setting
docs/why.md answers common questions with it.)";

std::string questionsText() {
  std::string text = "Questions:\n";
  for (const why::QuestionKind& kind : why::questionKinds()) {
    const std::string form = fmt::format("{} {}", kind.name, kind.arguments);
    text += form.size() < 22 ? fmt::format("  {:<22}{}\n", form, kind.help)
                             : fmt::format("  {}\n  {:<22}{}\n", form, "", kind.help);
  }
  return text + "\n";
}

int runWhy(WhyArguments options) {
  // With --host there is no FILE, and the parser took the question's first word for it.
  if (!options.job.hosts.empty() && !options.job.file.empty()) {
    options.question.insert(options.question.begin(), options.job.file);
    options.job.file.clear();
  }
  const Settings settings = readSettings();
  const JobRequest request = readJob(options.job, settings);
  const why::Inquiry inquiry = [&] {
    const Progress progress(fmt::format("planning {}", jobName(options.job)));
    return why::Inquiry(request.plan, settings);
  }();
  const why::Answer answer = inquiry.ask(options.question);
  warnOfHostsApart(inquiry.plan());
  warnOfHang(inquiry.plan());
  if (options.json) {
    nlohmann::ordered_json json = why::toJson(answer);
    json["job"] = {{"hosts", answer.hosts},
                   {"ranks", answer.ranks},
                   {"nccl", rules::versionText(inquiry.plan().nccl->version)},
                   {"settings", plan::settingsJson(inquiry.plan())},
                   {"assumed", request.assumptions}};
    writeJson(json, 2);
  } else {
    const Terminal screen = terminalOf(stdout);
    writeOut(answerText(answer, screen) +
             screen.paint(Style::kDim,
                          fmt::format("\nThis holds for {} on {} of {}.\n", counted(answer.ranks, "rank"),
                                      counted(answer.hosts, "host"), jobName(options.job))) +
             conditionsText(inquiry.plan(), request.assumptions, screen));
  }
  return kOk;
}

}  // namespace

void addWhy(CommandLine& line) {
  const auto options = std::make_shared<WhyArguments>();
  Command command = line.add("why", "say why a plan is as it is: GDR, P2P, NICs, channels, ...");
  addJobOptions(command, options->job);
  Option file = command.get("FILE");
  Option hosts = command.get("--host");
  hosts.mayStandWith(file);
  hosts.takesOne();  // the words after it are the question
  command.option("QUESTION", options->question, "what to explain, see below");
  command.flag("--json", options->json, "print JSON");
  command.footer(questionsText() + kWhyExamples);
  command.action([options] { return runWhy(*options); });
}

}  // namespace xylem::cli
