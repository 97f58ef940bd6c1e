#pragma once
// Checks a topology file of any origin, and goes on after the first problem: the readers of the planner stop
// at what they cannot use, here everything that is wrong, doubtful or easily misunderstood is named, with
// lines and with what to write instead.
//
//   LintReport report = lintTopology(text, "vm.xml");
//   report.count(Severity::kError)   ->   0: every reader accepts the file, and no device gets lost
//
// A file that is no well-formed XML is looked at as far as it parses.

#include <string>
#include <string_view>
#include <vector>

#include "insight/lint/finding.h"

namespace xylem {

struct LintReport {
  std::string file;
  std::vector<Finding> findings;  // errors first, then by line
  int gpus = 0, nets = 0;         // elements of that name

  int count(Severity severity) const;
  // Neither errors nor warnings.
  bool isClean() const { return count(Severity::kError) + count(Severity::kWarning) == 0; }
};

LintReport lintTopology(std::string_view text, const std::string& file);

// Throws InputError if the file cannot be read at all.
LintReport lintTopologyFile(const std::string& path);

// The report in the format xylem-lint-1, as lines of JSON.
std::string lintJson(const LintReport& report);

}  // namespace xylem
