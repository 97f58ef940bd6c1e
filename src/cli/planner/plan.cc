// xylem plan: NCCL's plan of a job on given hosts.
#include "planner/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bound_view.h"
#include "cli/commands.h"
#include "cli/host_view.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/machine_text.h"
#include "cli/number_text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "core/log.h"
#include "insight/preflight/preflight.h"
#include "planner/connect/collnet_nvls.h"
#include "planner/connect/double_tree.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/plan/graph_dump.h"
#include "planner/plan/host_parts.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/plan_log.h"
#include "planner/tuning/choice_ranges.h"

namespace xylem::cli {
namespace {

// Trees are cut after this many nodes with children. The first ones are nearest to the root.
constexpr std::size_t kMaxParents = 8;

int rootOf(const connect::DoubleTree& trees, int tree) {
  int node = 0;
  while (trees.place(tree, node).parent != connect::kNoTreeNode) node = trees.place(tree, node).parent;
  return node;
}

// "0 > 4, 4 > 2 6, 2 > 1 3": level by level from the root.
std::string treeText(int nodes, int tree) {
  // Breadth first, so that cutting the list leaves out the nodes far from the root.
  const connect::DoubleTree trees(nodes);
  std::vector<int> queue = {rootOf(trees, tree)};
  std::string text;
  std::size_t parents = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const connect::TreePlace place = trees.place(tree, queue[i]);
    std::string children;
    for (int child : {place.firstChild, place.secondChild}) {
      if (child == connect::kNoTreeNode) continue;
      children += fmt::format(" {}", child);
      queue.push_back(child);
    }
    if (children.empty()) continue;
    if (++parents > kMaxParents) return text + ", ...";
    text += fmt::format("{}{} >{}", text.empty() ? "" : ", ", queue[i], children);
  }
  return text;
}

// A range of sizes with the same algorithm and protocol.
struct Stretch {
  std::uint64_t first = 0, last = 0;  // bytes
  tuning::Pick pick;
  int minChannels = 0, maxChannels = 0;
  float firstTime = 0, lastTime = 0;  // predicted, in microseconds; 0 if nothing can run
};

// Joins the ranges of the tuning model that only differ in their numbers of channels.
std::vector<Stretch> stretchesOf(const tuning::TuningModel& model, Collective collective) {
  std::vector<Stretch> all;
  for (const tuning::ChoiceRange& range : tuning::choiceRanges(model, {.collective = collective})) {
    if (all.empty() || all.back().pick.algorithm != range.pick.algorithm ||
        all.back().pick.protocol != range.pick.protocol || all.back().pick.runs != range.pick.runs)
      all.push_back({range.first, range.last, range.pick, range.pick.channels, range.pick.channels});
    all.back().last = range.last;
    all.back().minChannels = std::min(all.back().minChannels, range.pick.channels);
    all.back().maxChannels = std::max(all.back().maxChannels, range.pick.channels);
  }
  for (Stretch& stretch : all) {
    if (!stretch.pick.runs) continue;
    const auto at = [&](std::uint64_t bytes) {
      return tuning::predictedTime(model, {.collective = collective, .bytes = bytes}, stretch.pick.algorithm,
                                   stretch.pick.protocol);
    };
    stretch.firstTime = at(stretch.first);
    stretch.lastTime = at(stretch.last);
  }
  return all;
}

// The values that the text and the JSON of a whole plan show.
struct PlanReport {
  const plan::Plan& plan;
  std::string machine;
  std::vector<std::string> assumptions;
  std::vector<HostReport> hosts;                  // by view
  std::optional<preflight::Preflight> agreement;  // of jobs with several kinds of hosts
  std::vector<Stretch>
      choices;  // of AllReduce, as the ranks of rank 0's kind of host choose; none for one rank
};

PlanReport reportOf(const plan::Plan& plan, const std::string& machine,
                    const std::vector<std::string>& assumptions, optimum::Effort effort) {
  PlanReport report{plan, machine, assumptions, {}, {}, {}};
  for (const auto& host : plan.hostPlans) report.hosts.push_back(hostReport(plan, *host, effort));
  if (plan.hostPlans.size() > 1) report.agreement = preflight::preflight(plan);
  if (plan.job().ranks() > 1)
    report.choices =
        stretchesOf(plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))], Collective::kAllReduce);
  return report;
}

std::string timesText(const Stretch& stretch) {
  if (stretch.last >= tuning::kMaxBytes) return fmt::format("from {:.1f}", stretch.firstTime);
  return fmt::format("{:.1f} to {:.1f}", stretch.firstTime, stretch.lastTime);
}

// The rings over all ranks, a row for those that are equal.
std::string ringsText(const plan::Plan& plan, const Terminal& screen) {
  const connect::Connections& c = plan.connections;
  Table table({{"channel", Align::kRight}, {"ranks"}});
  std::vector<std::vector<int>> rings;
  for (int searched = 0; searched < c.searched; ++searched)
    rings.push_back(connect::searchedRing(c, searched));
  for (const auto& group : grouped(rings)) {
    std::vector<int> channels;
    // The search found few channels; each became one or several of the job's.
    for (int channel = 0; channel < c.nChannels(); ++channel)
      for (int searched : group.channels)
        if (c.source(0, channel).searched == searched) channels.push_back(channel);
    if (!channels.empty()) table.add({{listText(channels)}, {ranksText(group.line, c.nodes.ofRank, 1)}});
  }
  return screen.heading(c.nodes.count() > 1 ? "Rings of the job, | between nodes" : "Rings of the job") +
         table.text(screen, 2);
}

// Both trees over nodes; empty for one node.
std::string treesText(const plan::Plan& plan, const Terminal& screen) {
  const connect::Connections& c = plan.connections;
  if (c.nodes.count() < 2) return "";
  std::array<std::vector<int>, 2> channels;
  for (int channel = 0; channel < c.nChannels(); ++channel)
    channels[static_cast<std::size_t>(c.source(0, channel).tree % 2)].push_back(channel);
  Table table({{"channel", Align::kRight}, {"nodes"}});
  for (int tree = 0; tree < 2; ++tree) {
    const std::vector<int>& of = channels[static_cast<std::size_t>(tree)];
    if (!of.empty()) table.add({{listText(of)}, {treeText(c.nodes.count(), tree)}});
  }
  return screen.heading(fmt::format("Trees of the job over its nodes, parent > children; {} hops deep",
                                    connect::treeDepth(c))) +
         table.text(screen, 2);
}

std::string choicesText(const PlanReport& report, const Terminal& screen) {
  if (report.choices.empty()) return "";
  Table table({{"size"}, {"algorithm"}, {"protocol"}, {"channels", Align::kRight}, {"us", Align::kRight}});
  for (const Stretch& stretch : report.choices) {
    const std::string size = sizesText(stretch.first, stretch.last, tuning::kMaxBytes);
    if (!stretch.pick.runs) {
      table.add({{size}, {"nothing can run it", Style::kRed}});
      continue;
    }
    table.add({{size},
               {name(stretch.pick.algorithm), Style::kGreen},
               {name(stretch.pick.protocol), Style::kGreen},
               {stretch.minChannels == stretch.maxChannels
                    ? std::to_string(stretch.minChannels)
                    : fmt::format("{}-{}", stretch.minChannels, stretch.maxChannels)},
               {timesText(stretch)}});
  }
  return screen.heading(report.hosts.size() > 1
                            ? "AllReduce by size as rank 0 chooses, with the predicted time"
                            : "AllReduce by size, with the predicted time") +
         table.text(screen, 2);
}

// More kinds of hosts, and more ranges of hosts and ranks, are left out.
constexpr std::size_t kMaxKinds = 8;
constexpr std::size_t kMaxRanges = 4;

// Whether the nodes that NCCL makes of a host exchange data in its memory.
bool nodesShareMemory(const plan::Plan& plan) {
  const connect::NetChoice choice(plan.connections, plan.reach);
  for (int host = 0; host < plan.job().hosts(); ++host)
    if (const std::vector<int> parts = plan::ranksOfParts(plan, plan.job().rank(host, 0)); parts.size() > 1)
      return choice.transport(parts[0], parts[1], paths::Direction::kSend) == connect::TransportKind::kShm;
  return false;
}

std::string jobSizeText(const plan::Plan& plan, const std::string& machine, const Terminal& screen) {
  const connect::Job& job = plan.job();
  std::string text =
      fmt::format("{} on {} of {}", screen.paint(Style::kBold, counted(job.ranks(), "rank")),
                  counted(job.hosts(), "host"),
                  job.shapes.size() > 1 ? counted(static_cast<int>(job.shapes.size()), "kind") : machine);
  if (plan.hostPlans.size() == 1) text += ": " + inventory(plan.hostOf(0).system());
  text += '\n';
  if (plan.connections.nodes.count() != job.hosts())
    text += fmt::format(
        "NCCL counts {}: some GPUs of a host have no better path to each other than the network{}\n",
        counted(plan.connections.nodes.count(), "node"),
        nodesShareMemory(plan) ? "; they meet in the host's memory all the same" : "");
  return text;
}

std::string gpusOfJob(const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  std::string text = c.lowestSm == c.highestSm
                         ? fmt::format("compute capability {}", c.lowestSm)
                         : fmt::format("compute capabilities {} to {}", c.lowestSm, c.highestSm);
  if (c.job.shapeOf(0).ranks() > 1)
    text += plan.allNvlink ? ", GPUs of a host all joined by NVLink"
                           : ", GPUs of a host not all joined by NVLink";
  return text + '\n';
}

// A kind of hosts without channels for NVLS if others have some; else the job.
std::string withoutNvls(const plan::Plan& plan) {
  const std::vector<HostKind> kinds = hostKinds(plan);
  for (std::size_t view = 0; kinds.size() > 1 && view < kinds.size(); ++view)
    if (plan.hostPlans[view]->graphs[search::GraphKind::kNvls].nChannels == 0) return kinds[view].name;
  return "this job";
}

// The numbers of channels, of rank 0 if ranks differ.
std::string channelsText(const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  const connect::ViewDecisions& mine = c.of(0);
  std::string text = fmt::format("channels{}: {}; collectives use {}", c.views.size() > 1 ? " of rank 0" : "",
                                 c.nChannels(), mine.channels.collective);
  if (c.nvlsHeads > 0)
    text += fmt::format(", NVLS {} through {}", mine.nvlsChannels, counted(c.nvlsHeads, "head"));
  text += fmt::format(", send/receive {}, {} per peer\n", mine.p2pChannels, mine.p2pChannelsPerPeer);
  if (c.collnet)
    text += fmt::format("CollNet: the network reduces, {}\n", counted(mine.collnetHeads, "head"));
  if (plan.offered.nvls && c.nvlsHeads == 0)
    text += fmt::format("NVLS: offered, but {} has no channels for it\n", withoutNvls(plan));
  return text;
}

std::string agreementText(const PlanReport& report, const Terminal& screen) {
  if (!report.agreement) return "";
  const preflight::Preflight& result = *report.agreement;
  if (result.isFine()) return "agreement: all ranks decide alike\n";
  return fmt::format(
      "agreement: {} (`xylem preflight` says where, why and what avoids it)\n",
      screen.paint(Style::kRed, result.disagrees()
                                    ? "ranks of different hosts would decide differently and hang"
                                    : "hosts without a usable NIC"));
}

std::string kindsText(const plan::Plan& plan, const std::vector<HostKind>& kinds, const Terminal& screen) {
  Table table({{"kind"}, {"hosts"}, {"ranks"}, {"a host has"}});
  for (std::size_t view = 0; view < kinds.size() && view < kMaxKinds; ++view)
    table.add(
        {{kinds[view].name, Style::kBold},
         {listText(kinds[view].hosts, kMaxRanges)},
         {listText(kinds[view].ranks, kMaxRanges)},
         {fmt::format("{}, {}", smText(*plan.hostPlans[view]), inventory(plan.hostPlans[view]->system()))}});
  std::string text = screen.heading("Kinds of hosts") + table.text(screen, 2);
  if (kinds.size() > kMaxKinds)
    text += fmt::format("  and {} more, which --json has\n", kinds.size() - kMaxKinds);
  return text;
}

std::string placeText(const plan::Plan& plan, int rank, const Terminal& screen) {
  const connect::Connections& c = plan.connections;
  const topology::System& system = plan.hostOf(rank).system();
  const topology::NodeId gpu = c.job.gpuOf(rank);
  const auto at = static_cast<std::size_t>(rank);
  std::string text =
      fmt::format("{} of {}: host {}, {} ({}, sm {})\n",
                  screen.paint(Style::kBold, fmt::format("rank {}", rank)), c.job.ranks(), c.job.hostOf(rank),
                  system.name(gpu), fmt::format("device {}", system.gpu(gpu).dev), system.gpu(gpu).sm);
  text += fmt::format("node {} of {}, local rank {}\n", c.nodes.ofRank[at], c.nodes.count(),
                      c.nodes.localRank[at]);
  const connect::ViewDecisions& mine = c.of(rank);
  text += fmt::format("channels: {} for collectives, {} for NVLS, {} for send/receive ({} per peer)\n",
                      mine.channels.collective, mine.nvlsChannels, mine.p2pChannels, mine.p2pChannelsPerPeer);
  return text;
}

std::string rankName(int rank) { return rank < 0 ? "-" : std::to_string(rank); }

// The transport to or from a neighbour: "P2P", or the NIC and whose proxy drives it.
std::string wayName(const plan::Plan& plan, const connect::NetChoice& nets, int rank, int peer, int channel,
                    paths::Direction direction) {
  const auto end = nets.ringEnd(rank, channel, peer, direction);
  if (!end) return peer == rank ? "" : connect::name(nets.transport(rank, peer, direction));
  const topology::System& system = plan.hostOf(rank).system();
  if (end->net == topology::kNoNode) return "no NIC";
  std::string text = nodeLabel(system, end->net);
  if (end->proxy != rank) text += fmt::format(" by rank {}", end->proxy);
  return text + (end->gdr ? ", GDR" : "");
}

std::string channelsText(const plan::Plan& plan, int rank, const Terminal& screen) {
  const connect::Connections& c = plan.connections;
  const connect::NetChoice nets(c, plan.reach);
  Table table({{"channel", Align::kRight},
               {"from", Align::kRight},
               {"through"},
               {"to", Align::kRight},
               {"through"},
               {"tree up", Align::kRight},
               {"tree down"}});
  for (int channel = 0; channel < c.of(rank).channels.total(); ++channel) {
    const connect::RingNeighbours ring = connect::ringNeighbours(c, rank, channel);
    const connect::TreeLinks tree = connect::treeOf(c, rank, channel);
    std::string down;
    for (int child : tree.down)
      if (child >= 0) down += (down.empty() ? "" : " ") + std::to_string(child);
    table.add({{std::to_string(channel)},
               {rankName(ring.previous)},
               {wayName(plan, nets, rank, ring.previous, channel, paths::Direction::kReceive), Style::kCyan},
               {rankName(ring.next)},
               {wayName(plan, nets, rank, ring.next, channel, paths::Direction::kSend), Style::kCyan},
               {rankName(tree.up)},
               {down.empty() ? "-" : down}});
  }
  return table.text(screen, 2);
}

// The job with its graphs, channels, rings, trees and choices by size.
std::string planText(const PlanReport& report, const Terminal& screen) {
  const plan::Plan& plan = report.plan;
  std::string text = jobSizeText(plan, report.machine, screen) +
                     conditionsText(plan, report.assumptions, screen) + gpusOfJob(plan) + channelsText(plan);
  text += agreementText(report, screen);
  if (report.hosts.size() == 1) {
    text += hostText(report.hosts.front(), "a host", screen);
  } else {
    const std::vector<HostKind> kinds = hostKinds(plan);
    text += kindsText(plan, kinds, screen);
    for (std::size_t view = 0; view < kinds.size() && view < kMaxKinds; ++view)
      text += hostText(report.hosts[view], kinds[view].name, screen);
  }
  text += ringsText(plan, screen) + treesText(plan, screen) + choicesText(report, screen);
  return report.choices.empty() ? text : text + channelUseText(optimum::channelUseOf(plan, 0));
}

// The format `xylem-plan-1` with `assumed`, and `bounds` by view; with `rank`, of that rank alone.
plan::Json toJson(const PlanReport& report, int rank) {
  plan::Json json = plan::toJson(report.plan, rank);
  json["assumed"] = report.assumptions;
  plan::Json& bounds = json["bounds"] = plan::Json::array();
  for (const HostReport& host : report.hosts) bounds.push_back(boundsJson(host.bounds, host.host->system()));
  return json;
}

// One rank's place, and its neighbours and NICs in every ring and tree.
std::string rankText(const PlannedJob& planned, int rank, const Terminal& screen) {
  const plan::Plan& plan = planned.plan;
  return placeText(plan, rank, screen) + conditionsText(plan, planned.assumptions, screen) +
         screen.heading("Neighbours in the ring and the tree of each channel") +
         channelsText(plan, rank, screen);
}

struct PlanArguments {
  JobInput job;
  bool json = false;
  bool log = false;
  bool bounds = false;
  int rank = -1;  // -1: all
};

constexpr const char* kPlanExamples = R"(Examples:
  xylem plan dgxh100.xml              two hosts: graphs, channels, rings, trees
  xylem plan dgxh100.xml --nodes 1    one host alone
  xylem plan dgxh100.xml --nodes 16   a job of 16 such hosts
  xylem plan - --nodes 2              two hosts like this machine
  xylem plan --host dgxh100.xml:2 --host dgxa100.xml@0,1,2,3
                                      two hosts of one kind and half of one of another
  xylem plan dgxh100.xml --nodes 16384 --rank 70000
                                      one rank of 131072: its neighbours, trees, NICs
  xylem plan dgxh100.xml --nodes 2 --log
                                      the lines that NCCL's rank 0 would log
  xylem plan dgxh100.xml --json       everything, in the format xylem-plan-1
  NCCL_CROSS_NIC=0 xylem plan dgxh100.xml --nodes 2
                                      what a setting changes
  NCCL_GRAPH_DUMP_FILE=graph.xml xylem plan dgxh100.xml --nodes 2
                                      the channels as NCCL's graph file, which NCCL_GRAPH_FILE reads)";

void print(const PlanArguments& options, const PlannedJob& planned, int rank) {
  const plan::Plan& plan = planned.plan;
  if (options.log) return writeOut(plan::logText(plan::planLog(plan, rank)));
  const Terminal screen = terminalOf(stdout);
  if (options.rank >= 0 && !options.json) return writeOut(rankText(planned, rank, screen));
  const PlanReport report = reportOf(plan, jobName(options.job), planned.assumptions,
                                     options.bounds ? optimum::Effort::kFull : optimum::Effort::kQuick);
  if (options.json)
    writeJson(toJson(report, options.rank));
  else
    writeOut(planText(report, screen));
}

int runPlan(const PlanArguments& options) {
  const Settings settings = readSettings();
  // NCCL's log lines go to standard output, where they would spoil the JSON.
  const Logger log(settings, kPlannerSubsystems, options.json ? stderr : stdout);
  const PlannedJob planned = planForRank(options.job, settings, options.rank);
  const plan::Plan& plan = planned.plan;
  plan::dumpGraphs(plan, settings);
  warnOfHostsApart(plan);
  const int rank = std::max(options.rank, 0);
  if (!options.log && log.enabled(LogLevel::kWarn, Subsystem::kAll))
    for (const LogLine& line : plan::planLog(plan, rank)) log.write(line);
  print(options, planned, rank);
  return kOk;
}

}  // namespace

void addPlan(CommandLine& line) {
  const auto options = std::make_shared<PlanArguments>();
  Command command = line.add("plan", "plan a job: channels, rings and trees, as NCCL would");
  addJobOptions(command, options->job);
  command.option("--rank", options->rank, "only this rank's view").value("R").within(0, 1 << 24);
  command.flag("--bounds", options->bounds,
               "take seconds for the exact bounds of hosts with more than 8 GPUs (others always have them)");
  Option json = command.flag("--json", options->json, "print JSON");
  command.flag("--log", options->log, "print the lines that NCCL would log").excludes(json);
  command.footer(kPlanExamples);
  command.action([options] { return runPlan(*options); });
}

}  // namespace xylem::cli
