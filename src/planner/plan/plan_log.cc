#include "planner/plan/plan_log.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "planner/connect/connect_log.h"
#include "planner/paths/find_paths.h"
#include "planner/paths/path_table.h"
#include "planner/topology/print.h"
#include "planner/topology/system_builder.h"
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
    log.push_back({system.rules().failedSearchIsInfo ? LogLevel::kInfo : LogLevel::kWarn, Subsystem::kGraph,
                   fmt::format("Could not find a path for pattern {}, falling back to simple order",
                               static_cast<int>(graph.pattern))});
  append(log, search::graphLines(graph, system, names));
}

void appendGdr(std::vector<LogLine>& log, const paths::HostPaths& host, const paths::ReachOptions& options,
               const topology::RankNames& names) {
  const paths::Locality locality(host.system, host.paths);
  const paths::Reach reach(host.system, host.paths, locality, options);
  for (const paths::Decision& decision : host.decisions)
    append(log, paths::infoLines(decision, host.system, reach.gdrOverPci(decision), names));
}

// A rank computes paths twice: on the host as described, and on the part of it that it uses. Newer versions tell of both.
void appendWholeHost(std::vector<LogLine>& log, const Plan& plan, const HostPlan& host,
                     const topology::RankNames& names) {
  paths::HostPaths whole{topology::buildSystem(*host.description, plan.nccl), {}, {}};
  whole.paths = paths::findUsablePaths(whole.system, plan.reach, &whole.decisions);
  appendGdr(log, whole, plan.reach, names);
}

// How many network devices the ranks have, which newer versions compare.
void appendDeviceCounts(std::vector<LogLine>& log, const Plan& plan, int rank) {
  struct Counts {
    int net = 0, collnet = 0;
  };
  const auto countsOf = [](const topology::System& system) {
    Counts counts{system.count(topology::NodeType::kNet), 0};
    for (const topology::NodeId net : system.nodes(topology::NodeType::kNet))
      if (system.net(net).coll) ++counts.collnet;
    return counts;
  };
  const auto add = [&](std::string text) {
    log.push_back({LogLevel::kInfo, Subsystem::kInit, std::move(text)});
  };
  const Counts mine = countsOf(plan.hostOf(rank).system());
  add(fmt::format("Rank {}: {} Net devices", rank, mine.net));
  add(fmt::format("Rank {}: {} CollNet devices", rank, mine.collnet));
  if (rank != 0) return;
  Counts least = mine, most = mine;
  for (const auto& host : plan.hostPlans) {
    const Counts other = countsOf(host->system());
    least = {std::min(least.net, other.net), std::min(least.collnet, other.collnet)};
    most = {std::max(most.net, other.net), std::max(most.collnet, other.collnet)};
  }
  add(fmt::format("Local Net device counts across ranks: min {} max {}", least.net, most.net));
  add(fmt::format("Local CollNet device counts across ranks: min {} max {}", least.collnet, most.collnet));
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
      text += (line.whole ? line.text : line.text.substr(0, kLineBuffer - kLinePrefix)) + '\n';
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
  if (host.system().rules().gdrLog == rules::GdrLog::kGraph ||
      host.system().rules().gdrLog == rules::GdrLog::kNamed)
    appendWholeHost(log, plan, host, names);
  appendGdr(log, host.paths, plan.reach, names);
  append(log, topology::systemLines(host.system(), host.maxBandwidth, host.totalBandwidth, names));
  std::optional<paths::PathTable> plain;
  if (host.system().rules().logsDevices) plain = paths::findPaths(host.system(), !plan.reach.nvbDisable);
  append(log, paths::pathLines(host.system(), host.paths.paths, plain ? &*plain : nullptr));
  for (const search::ChannelGraph& graph : host.graphs) appendGraph(log, graph, host.system(), names);
  if (host.system().rules().logsTuning) appendDeviceCounts(log, plan, rank);
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
