#include "planner/plan/plan_log.h"

#include <algorithm>
#include <iterator>

#include "planner/connect/connect_log.h"
#include "planner/paths/path_table.h"
#include "planner/topology/print.h"
#include "planner/tuning/tuning_log.h"

namespace xylem::plan {
namespace {

void append(std::vector<LogLine>& log, std::vector<LogLine> lines) {
  std::move(lines.begin(), lines.end(), std::back_inserter(log));
}

void appendGraph(std::vector<LogLine>& log, const search::ChannelGraph& graph, const topology::System& system,
                 const topology::RankNames& names) {
  if (graph.gpuCount == 0) return;  // not computed
  if (graph.fallback)
    log.push_back({LogLevel::kWarn, Subsystem::kGraph,
                   fmt::format("Could not find a path for pattern {}, falling back to simple order",
                               static_cast<int>(graph.pattern))});
  append(log, search::graphLines(graph, system, names));
}

// NCCL writes a line with its prefix (`host:4711:4712 [0] NCCL INFO `, about this long) into one buffer and
// cuts off the rest. Lengths are in bytes.
constexpr std::size_t kLineBuffer = 1023;
constexpr std::size_t kLinePrefix = 29;

}  // namespace

std::string logText(const std::vector<LogLine>& lines) {
  constexpr auto kShown = static_cast<std::uint32_t>(Subsystem::kInit) |
                          static_cast<std::uint32_t>(Subsystem::kGraph) |
                          static_cast<std::uint32_t>(Subsystem::kTuning);
  std::string text;
  for (const LogLine& line : lines)
    if ((static_cast<std::uint32_t>(line.subsystem) & kShown) != 0)
      text += line.text.substr(0, kLineBuffer - kLinePrefix) + '\n';
  return text;
}

std::vector<LogLine> planLog(const Plan& plan, int rank) {
  std::vector<LogLine> log = hostLog(plan, rank);
  append(log, connectLog(plan, rank));
  append(log, tuningLog(plan, rank));
  return log;
}

std::vector<LogLine> hostLog(const Plan& plan, int rank) {
  std::vector<LogLine> log;
  const HostPlan& host = plan.hostOf(rank);
  const topology::RankNames names = plan.job().rankNames(plan.job().hostOf(rank));
  for (const paths::Decision& decision : host.paths.decisions)
    if (auto line = paths::infoLine(decision, host.system(), names)) log.push_back(std::move(*line));
  append(log, topology::systemLines(host.system(), host.maxBandwidth, host.totalBandwidth, names));
  append(log, paths::pathLines(host.system(), host.paths.paths));
  for (const search::ChannelGraph& graph : host.graphs) appendGraph(log, graph, host.system(), names);
  return log;
}

std::vector<LogLine> connectLog(const Plan& plan, int rank) {
  return connect::connectLines(plan.connections, rank);
}

std::vector<LogLine> tuningLog(const Plan& plan, int rank) {
  std::vector<LogLine> log =
      tuning::tuningLines(plan.tuning[static_cast<std::size_t>(plan.job().viewOf(rank))]);
  log.push_back(connect::channelCountLine(plan.connections, rank));
  return log;
}

}  // namespace xylem::plan
