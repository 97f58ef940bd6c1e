#include "planner/topology/as_written.h"

namespace xylem::topology {

Document asWrittenBy(const rules::RuleSet& rules, Document document) {
  for (std::size_t i = 0; i < document.size(); ++i) {
    const auto id = static_cast<ElementId>(i);
    const std::string name = document[id].name;
    if (name == "net") {
      if (rules.ginNodes) document.setIfAbsent(id, "net", "1");
      if (rules.rmaNodes) document.setIfAbsent(id, "rma", "1");
    }
    if (name == "gpu" && rules.splitGpus) document.setIfAbsent(id, "mlopart", "-1");
    if (name == "cpu" && rules.writesEmptyAffinity) document.setIfAbsent(id, "affinity", "");
  }
  return document;
}

}  // namespace xylem::topology
