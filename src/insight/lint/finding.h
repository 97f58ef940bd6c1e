#pragma once
// What lint has to say about a topology file: findings, each with its lines and what to write instead.
//
//   for (const Finding& finding : report.findings)
//     finding.severity, finding.rule, finding.lines   ->   kError, "missing-attribute", {7}
//     finding.found    ->   "gpu without `sm`"
//     finding.fix      ->   "write sm=\"90\": the compute capability, 9.0 as 90"

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

enum class Severity {
  kError,    // the file is refused, or a device of it is lost
  kWarning,  // it is accepted, but hardly means what was meant
  kNote,     // nothing is wrong; good to know
};
const char* name(Severity severity);

struct Finding {
  Severity severity = Severity::kError;
  std::string rule;        // "missing-attribute"; the same word for the same kind of finding
  std::vector<int> lines;  // ascending; empty: the file as a whole
  std::string found;
  std::string fix;
};

// Findings that say the same of several lines become one.
class Findings {
 public:
  void add(Severity severity, std::string_view rule, int line, std::string found, std::string fix);
  bool anyErrorAt(int line) const;
  // By severity, then line.
  std::vector<Finding> take();

 private:
  std::vector<Finding> list_;
};

}  // namespace xylem
