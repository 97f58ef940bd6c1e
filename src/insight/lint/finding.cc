#include "insight/lint/finding.h"

#include <algorithm>
#include <tuple>

namespace xylem {

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

void Findings::add(Severity severity, std::string_view rule, int line, std::string found, std::string fix) {
  list_.push_back({severity, std::string(rule), {}, std::move(found), std::move(fix)});
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

}  // namespace xylem
