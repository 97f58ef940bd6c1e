#include "plan/plan_log.h"

#include <algorithm>
#include <iterator>

#include "connect/rings.h"
#include "paths/print.h"
#include "topology/print.h"

namespace xylem {
namespace {

void append(std::vector<LogLine>& log, std::vector<LogLine> lines) {
  std::move(lines.begin(), lines.end(), std::back_inserter(log));
}

}  // namespace

std::vector<LogLine> planLog(const Plan& plan) {
  std::vector<LogLine> log;
  const HostPlan& host = plan.hostOf(0);
  for (const Decision& decision : host.paths.decisions)
    if (auto line = infoLine(decision, host.system())) log.push_back(std::move(*line));
  append(log, systemLines(host.system(), host.maxBandwidth, host.totalBandwidth));
  append(log, pathLines(host.system(), host.paths.paths));
  for (const ChannelGraph* graph : {&host.ring(), &host.tree()}) {
    if (graph->fallback)
      log.push_back({LogLevel::kWarn, Subsystem::kGraph,
                     fmt::format("Could not find a path for pattern {}, falling back to simple order",
                                 static_cast<int>(graph->pattern))});
    append(log, graphLines(*graph, host.system()));
  }
  append(log, ringLines(plan.connections));
  return log;
}

}  // namespace xylem
