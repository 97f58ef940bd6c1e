#include "insight/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.h"
#include "core/text_file.h"
#include "insight/lint/checks.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"
#include "planner/topology/xml.h"

namespace xylem::lint {
namespace {

// The planner's own readers have the last word: a file that they refuse has an error, even if no check found
// one.
void askReaders(std::string_view text, const std::string& file,
                const std::shared_ptr<const rules::RuleSet>& rules, Findings& findings) {
  try {
    topology::buildSystem(topology::completeForJob(topology::parseTopology(text, file), *rules), rules);
  } catch (const InputError& error) {
    if (findings.anyErrorAt(error.location().line)) return;
    findings.add("refused", error);
  }
}

}  // namespace

const char* name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

int LintReport::count(Severity severity) const {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.severity == severity;
  }));
}

LintReport lintTopology(std::string_view text, const std::string& file,
                        const std::shared_ptr<const rules::RuleSet>& rules) {
  LintReport report;
  report.file = file;
  Findings findings;
  const std::optional<topology::Document> document = readAnyXml(text, file, findings);
  if (document && checkSchema(*document, *rules, findings)) {
    report.gpus = static_cast<int>(elementsCalled(*document, "gpu").size());
    report.nets = static_cast<int>(elementsCalled(*document, "net").size());
    checkPci(*document, *rules, findings);
    checkDevices(*document, *rules, findings);
    checkLinks(*document, findings);
    checkLimits(*document, findings);
    askReaders(text, file, rules, findings);
  }
  report.findings = findings.take();
  return report;
}

LintReport lintTopologyFile(const std::string& path, const std::shared_ptr<const rules::RuleSet>& rules) {
  return lintTopology(readFile(path, "a topology XML file", topology::kMaxTopologyBytes), path, rules);
}

nlohmann::ordered_json toJson(const LintReport& report) {
  using Json = nlohmann::ordered_json;
  Json findings = Json::array();
  for (const Finding& finding : report.findings)
    findings.push_back({{"severity", name(finding.severity)},
                        {"rule", finding.rule},
                        {"lines", finding.lines},
                        {"found", finding.found},
                        {"fix", finding.fix}});
  return {{"format", "xylem-lint-1"},
          {"file", report.file},
          {"clean", report.isClean()},
          {"errors", report.count(Severity::kError)},
          {"warnings", report.count(Severity::kWarning)},
          {"notes", report.count(Severity::kNote)},
          {"gpus", report.gpus},
          {"nets", report.nets},
          {"findings", std::move(findings)}};
}

namespace {

// A name in a file may be of any length.
constexpr std::size_t kMaxSentence = 600;  // bytes

std::string shortened(std::string text) {
  if (text.size() <= kMaxSentence) return text;
  std::size_t end = kMaxSentence;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;  // inside a UTF-8 character
  text.resize(end);
  return text + "…";
}

}  // namespace

void Findings::add(Severity severity, std::string_view rule, int line, std::string found, std::string fix) {
  list_.push_back({severity, std::string(rule), {}, shortened(std::move(found)), shortened(std::move(fix))});
  if (line > 0) list_.back().lines.push_back(line);
}

bool Findings::anyErrorAt(int line) const {
  return std::any_of(list_.begin(), list_.end(), [&](const Finding& finding) {
    return finding.severity == Severity::kError &&
           (line == 0 || std::find(finding.lines.begin(), finding.lines.end(), line) != finding.lines.end());
  });
}

std::vector<Finding> Findings::take() {
  const auto meaning = [](const Finding& f) { return std::tie(f.severity, f.rule, f.found, f.fix); };
  std::stable_sort(list_.begin(), list_.end(),
                   [&](const Finding& a, const Finding& b) { return meaning(a) < meaning(b); });
  std::vector<Finding> merged;
  for (Finding& finding : list_) {
    if (!merged.empty() && meaning(merged.back()) == meaning(finding))
      merged.back().lines.insert(merged.back().lines.end(), finding.lines.begin(), finding.lines.end());
    else
      merged.push_back(std::move(finding));
  }
  for (Finding& finding : merged) {
    std::sort(finding.lines.begin(), finding.lines.end());
    finding.lines.erase(std::unique(finding.lines.begin(), finding.lines.end()), finding.lines.end());
  }
  std::stable_sort(merged.begin(), merged.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.severity, a.lines) < std::tie(b.severity, b.lines);
  });
  list_.clear();
  return merged;
}

}  // namespace xylem::lint
