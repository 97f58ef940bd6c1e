#include <nlohmann/json.hpp>

#include "insight/lint/lint.h"

namespace xylem {

std::string lintJson(const LintReport& report) {
  using Json = nlohmann::ordered_json;
  Json findings = Json::array();
  for (const Finding& finding : report.findings)
    findings.push_back({{"severity", name(finding.severity)},
                        {"rule", finding.rule},
                        {"lines", finding.lines},
                        {"found", finding.found},
                        {"fix", finding.fix}});
  const Json json = {{"format", "xylem-lint-1"},
                     {"file", report.file},
                     {"clean", report.isClean()},
                     {"errors", report.count(Severity::kError)},
                     {"warnings", report.count(Severity::kWarning)},
                     {"notes", report.count(Severity::kNote)},
                     {"gpus", report.gpus},
                     {"nets", report.nets},
                     {"findings", std::move(findings)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xylem
