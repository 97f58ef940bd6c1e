#include "planner/plan/graph_dump.h"

#include "core/text_file.h"
#include "planner/search/graph_file.h"

namespace xylem::plan {

std::string graphDump(const Plan& plan, int rank) {
  const HostPlan& host = plan.hostOf(rank);
  return search::writeGraphFile(host.graphs, host.system(), plan.job().rankNames(plan.job().hostOf(rank)));
}

void dumpGraphs(const Plan& plan, const Settings& settings) {
  const std::int64_t rank = settings.integer(Setting::kGraphDumpFileRank);
  if (rank < plan.job().ranks()) dumpGraphs(plan, settings, static_cast<int>(rank));
}

void dumpGraphs(const Plan& plan, const Settings& settings, int rank) {
  if (!settings.isSet(Setting::kGraphDumpFile) || rank != settings.integer(Setting::kGraphDumpFileRank))
    return;
  writeFile(settings.text(Setting::kGraphDumpFile), graphDump(plan, rank));
}

}  // namespace xylem::plan
