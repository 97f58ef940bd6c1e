// xylem lint: errors and doubtful values in a topology file, and how to correct them.
#include "insight/lint/lint.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/terminal.h"
#include "cli/version_input.h"
#include "cli/zoo.h"

namespace xylem::cli {
namespace {

struct LintArguments {
  std::string file;
  std::string nccl;
  bool notes = true;
  bool json = false;
};

// More lines of a finding are counted instead of listed.
constexpr std::size_t kMaxFindingLines = 6;
// Likewise more findings of one rule and severity: often all of them have one cause.
constexpr int kMaxOfRule = 8;

constexpr const char* kLintExamples = R"(Examples:
  xylem lint vm.xml              every finding with its line, and what to write instead
  xylem lint vm.xml --no-notes   errors and warnings alone
  xylem lint vm.xml --nccl 2.27.7
                                 what that version makes of it: attributes that it does not know
  xylem lint -                   what this machine looks like to NCCL
  xylem lint vm.xml --json       for programs, in the format xylem-lint-1

Errors: the file is refused, or a device of it is lost. Warnings: it is accepted, but hardly means what was
meant. Exit status: 0 neither of them (there may be notes), 1 some, 2 the file or an argument cannot be used.)";

std::string placeText(const lint::LintReport& report, const lint::Finding& finding) {
  std::string text = report.file;
  for (std::size_t i = 0; i < finding.lines.size() && i < kMaxFindingLines; ++i)
    text += fmt::format("{}{}", i == 0 ? ":" : ",", finding.lines[i]);
  if (finding.lines.size() > kMaxFindingLines)
    text += fmt::format(" and {} more", finding.lines.size() - kMaxFindingLines);
  return text;
}

Style styleOf(lint::Severity severity) {
  switch (severity) {
    case lint::Severity::kError:
      return Style::kRed;
    case lint::Severity::kWarning:
      return Style::kYellow;
    default:
      return Style::kBlue;
  }
}

std::string textOf(const lint::LintReport& report, bool notes, const Terminal& screen) {
  std::string text =
      fmt::format("{}: {}, {}{}\n", report.file, counted(report.count(lint::Severity::kError), "error"),
                  counted(report.count(lint::Severity::kWarning), "warning"),
                  notes ? ", " + counted(report.count(lint::Severity::kNote), "note") : "");
  std::map<std::pair<std::string, lint::Severity>, int> ofRule;
  for (const lint::Finding& finding : report.findings) {
    if (finding.severity == lint::Severity::kNote && !notes) continue;
    if (++ofRule[{finding.rule, finding.severity}] > kMaxOfRule) continue;
    text += fmt::format("\n{}: {} {}\n  found  {}\n  fix    {}\n", placeText(report, finding),
                        screen.paint(styleOf(finding.severity), lint::name(finding.severity)),
                        screen.paint(Style::kDim, finding.rule), finding.found, finding.fix);
  }
  for (const auto& [kind, count] : ofRule)
    if (count > kMaxOfRule)
      text += fmt::format("\nand {} more of {} (--json has all)\n", count - kMaxOfRule,
                          screen.paint(Style::kDim, kind.first));
  return text;
}

int runLint(const LintArguments& options) {
  const Settings settings = readSettings();
  const auto rules = rulesNamed(options.nccl, settings);
  const lint::LintReport report =
      isThisMachine(options.file)
          ? lint::lintTopology(topology::writeTopology(detectMachine(settings)), "this machine", rules)
          : lint::lintTopologyFile(machineFile(options.file), rules);
  if (options.json)
    writeJson(lint::toJson(report));
  else
    writeOut(textOf(report, options.notes, terminalOf(stdout)));
  return report.isClean() ? kOk : kFailed;
}

}  // namespace

void addLint(CommandLine& line) {
  const auto options = std::make_shared<LintArguments>();
  Command command = line.add("lint", "check a topology file: what is wrong, where, what to write instead");
  command.option("FILE", options->file, "topology XML; - for this machine").required();
  command.option("--nccl", options->nccl, "the version of NCCL that reads the file (default: XYLEM_NCCL)")
      .value("VERSION");
  command.flag("!--no-notes", options->notes, "leave out what is only good to know");
  command.flag("--json", options->json, "print JSON");
  command.footer(kLintExamples);
  command.action([options] { return runLint(*options); });
}

}  // namespace xylem::cli
