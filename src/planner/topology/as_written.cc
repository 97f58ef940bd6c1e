#include "planner/topology/as_written.h"

#include "planner/topology/attributes.h"
#include "planner/topology/select_nets.h"

namespace xylem::topology {
namespace {

bool isRdma(const Document& document, ElementId net) {
  // Ports of RDMA devices count from 1, and interfaces have port 0.
  constexpr int kUnknown = -1;
  const auto port = Attributes(document, net).integer("port", kUnknown, 1 << 16, kUnknown);
  return port == kUnknown ? !isInterface(document.text(net, "name"), 0) : port > 0;
}

}  // namespace

Document asWrittenBy(const rules::RuleSet& rules, Document document) {
  for (std::size_t i = 0; i < document.size(); ++i) {
    const auto id = static_cast<ElementId>(i);
    const std::string name = document[id].name;
    if (name == "net") {
      if (rules.ginNodes) document.setIfAbsent(id, "net", "1");
      if (rules.rmaNodes && isRdma(document, id)) document.setIfAbsent(id, "rma", "1");
    }
    if (name == "gpu" && rules.splitGpus) document.setIfAbsent(id, "mlopart", "-1");
    if (name == "cpu" && rules.writesEmptyAffinity) document.setIfAbsent(id, "affinity", "");
  }
  return document;
}

}  // namespace xylem::topology
