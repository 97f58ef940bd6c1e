#include "insight/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "insight/lint/checks.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"
#include "planner/topology/xml_text.h"

namespace xylem {
namespace {

// The planner's own readers have the last word: what they refuse is an error, also where no check has seen
// it.
void askReaders(std::string_view text, const std::string& file, Findings& findings) {
  try {
    buildSystem(completeForJob(parseTopology(text, file)));
  } catch (const InputError& error) {
    if (findings.anyErrorAt(error.location().line)) return;
    const std::string place = toString(error.location()) + ": ";
    const std::string said = error.what();
    findings.add(Severity::kError, "refused", error.location().line,
                 said.starts_with(place) ? said.substr(place.size()) : said, "write what is expected");
  }
}

}  // namespace

int LintReport::count(Severity severity) const {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.severity == severity;
  }));
}

LintReport lintTopology(std::string_view text, const std::string& file) {
  LintReport report;
  report.file = file;
  Findings findings;
  const std::optional<Document> document = readAnyXml(text, file, findings);
  if (document && checkSchema(*document, findings)) {
    report.gpus = static_cast<int>(elementsCalled(*document, "gpu").size());
    report.nets = static_cast<int>(elementsCalled(*document, "net").size());
    checkPci(*document, findings);
    checkDevices(*document, findings);
    checkLinks(*document, findings);
    askReaders(text, file, findings);
  }
  report.findings = findings.take();
  return report;
}

LintReport lintTopologyFile(const std::string& path) {
  return lintTopology(readXmlFile(path, "a topology XML file", {.bytes = kMaxTopologyBytes}), path);
}

}  // namespace xylem
