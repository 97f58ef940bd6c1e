#pragma once
// Checks a topology file of any origin. The planner's readers stop at the first thing that they cannot use;
// lint goes on, and names everything that is wrong, doubtful or easily misunderstood, with lines and with
// what to write instead.
//
//   LintReport report = lintTopology(text, "vm.xml");
//   report.count(Severity::kError)   ->   0: every reader accepts the file, and no device gets lost
//   for (const Finding& finding : report.findings)
//     finding.severity, finding.rule, finding.lines   ->   kError, "missing-attribute", {7}
//     finding.found    ->   "gpu without `sm`"
//     finding.fix      ->   "write sm=\"90\": the compute capability, 9.0 as 90"
//
// If a file is not well-formed XML, lint checks the part that parses.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "planner/rules/changes.h"

namespace xylem::lint {

enum class Severity {
  kError,    // readers refuse the file, or drop a device of it
  kWarning,  // readers accept it, but it hardly means what its author meant
  kNote,     // nothing is wrong; good to know
};
const char* name(Severity severity);

struct Finding {
  Severity severity = Severity::kError;
  std::string rule;        // "missing-attribute": a stable name for the kind of finding
  std::vector<int> lines;  // ascending; empty: the file as a whole
  std::string found;
  std::string fix;
};

struct LintReport {
  std::string file;
  std::vector<Finding> findings;  // errors first, then by line
  int gpus = 0, nets = 0;         // number of elements of that name

  int count(Severity severity) const;
  // True if there are neither errors nor warnings.
  bool isClean() const { return count(Severity::kError) + count(Severity::kWarning) == 0; }
};

LintReport lintTopology(std::string_view text, const std::string& file,
                        const std::shared_ptr<const rules::RuleSet>& rules = rules::newestRules());

// Throws InputError if the file cannot be read at all.
LintReport lintTopologyFile(const std::string& path,
                            const std::shared_ptr<const rules::RuleSet>& rules = rules::newestRules());

// The format `xylem-lint-1`.
nlohmann::ordered_json toJson(const LintReport& report);

}  // namespace xylem::lint
