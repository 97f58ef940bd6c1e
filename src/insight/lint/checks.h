#pragma once
// The checks of lint, by what they look at. Each reads the document with all elements as they stand in the
// file, known or not, and adds its findings.
//
//   Findings findings;
//   if (checkSchema(document, rules, findings)) checkPci(document, findings);
//   report.findings = findings.take();

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "insight/lint/lint.h"
#include "planner/topology/document.h"

namespace xylem::lint {

// Collects findings, and merges findings that say the same of several lines.
class Findings {
 public:
  // `line` 0: the file as a whole.
  void add(Severity severity, std::string_view rule, int line, std::string found, std::string fix);
  // An error of a reader of the file.
  void add(std::string_view rule, const InputError& refusal) {
    add(Severity::kError, rule, refusal.location().line, refusal.found(), "write " + refusal.expected());
  }
  // Returns whether there is an error at this line; for line 0, whether there is any error.
  bool anyErrorAt(int line) const;
  // All findings, by severity, then by line.
  std::vector<Finding> take();

 private:
  std::vector<Finding> list_;
};

// The text as elements, whatever their names. Syntax that the planner's readers refuse is a finding. Returns
// nothing if the text has no element at all.
std::optional<topology::Document> readAnyXml(std::string_view text, const std::string& file,
                                             Findings& findings);

// Checks the root, the names of elements, their nesting, their attributes and the form of the values. Returns
// false if the document is no topology file, so that the other checks make no sense.
bool checkSchema(const topology::Document& document, const rules::RuleSet& rules, Findings& findings);

// Checks switches, cards, PCI links and bus ids.
void checkPci(const topology::Document& document, const rules::RuleSet& rules, Findings& findings);

// Checks CPUs, GPUs and network devices: numbers, NUMA nodes, GPU Direct RDMA, and which devices are near
// each other.
void checkDevices(const topology::Document& document, const rules::RuleSet& rules, Findings& findings);

// Checks that the file has no more elements than NCCL takes.
void checkLimits(const topology::Document& document, Findings& findings);

// Checks NVLinks and other elements that refer to another element.
void checkLinks(const topology::Document& document, Findings& findings);

// All elements below the root called `name`, in document order.
std::vector<topology::ElementId> elementsCalled(const topology::Document& document, std::string_view name);
// The nearest element called `name` that holds `element`, or kNoElement.
topology::ElementId holderOf(const topology::Document& document, topology::ElementId element,
                             std::string_view name);
// The attribute as an integer in C syntax; nothing if it is absent or no number.
std::optional<std::int64_t> numberOf(const topology::Document& document, topology::ElementId element,
                                     std::string_view name);
// Returns whether a gpu element is a part of a device that is several GPUs, to a version that knows such parts.
bool isPart(const topology::Document& document, topology::ElementId gpu, const rules::RuleSet& rules);

}  // namespace xylem::lint
