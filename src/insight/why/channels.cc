// why channels: which searches ran in which order, the steps that each took, and what stopped the next
// channel.
#include <fmt/format.h>

#include <algorithm>

#include "insight/why/bandwidth_left.h"
#include "insight/why/names.h"
#include "insight/why/questions.h"

namespace xylem::why {
namespace {

const char* text(search::SearchChange change) {
  switch (change) {
    case search::SearchChange::kFirst:
      return "first try: nearest GPUs and NICs";
    case search::SearchChange::kAnyOrder:
      return "channels may differ in order";
    case search::SearchChange::kTreePattern:
      return "NIC traffic through one GPU";
    case search::SearchChange::kFartherGpus:
      return "GPUs may be farther apart";
    case search::SearchChange::kFartherNets:
      return "NICs may be farther away";
    case search::SearchChange::kCrossNic:
      return "channels may cross NICs";
    case search::SearchChange::kLessBandwidth:
      return "less bandwidth per channel";
    case search::SearchChange::kMoreBandwidth:
      return "more bandwidth per channel";
  }
  return "";
}

AnswerTable attemptsTable(const search::ChannelGraph& graph, bool nets) {
  AnswerTable table{"Searches in order",
                    {"search", "pass", "changed", "pattern", "GB/s", "GPU-GPU", "GPU-NET", "cross NIC",
                     "same order", "steps", "channels"},
                    {}};
  for (std::size_t i = 0; i < graph.attempts.size(); ++i) {
    const search::SearchAttempt& a = graph.attempts[i];
    const std::string speed =
        a.bwIntra == a.bwInter ? fmt::format("{}", a.bwIntra) : fmt::format("{}/{}", a.bwIntra, a.bwInter);
    table.rows.push_back(
        {std::to_string(i + 1), std::to_string(a.pass), text(a.change), search::name(a.pattern), speed,
         paths::name(a.typeIntra), nets ? paths::name(a.typeInter) : "-", std::to_string(a.crossNic),
         a.sameChannels ? "yes" : "no", fmt::format("{}{}", a.steps, a.exhausted ? " (limit)" : ""),
         a.channelsAfter == a.channelsBefore ? std::to_string(a.channelsAfter)
                                             : fmt::format("{} -> {}", a.channelsBefore, a.channelsAfter)});
  }
  return table;
}

AnswerStep startStep(const plan::HostPlan& host, const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "start-bandwidth";
  step.text =
      fmt::format("the search starts at {} per channel", bandwidthText(graph.attempts.front().bwIntra));
  step.inputs = {{"best path of a GPU to a NIC, or to a GPU without NICs", bandwidthText(host.maxBandwidth)},
                 {"most a GPU sends", bandwidthText(host.totalBandwidth)},
                 {"channels at least", std::to_string(graph.minChannels)},
                 {"channels at most", std::to_string(graph.maxChannels)}};
  step.threshold = "the largest bandwidth of the list that a path carries";
  return step;
}

// The requirements that the first pass of searches gave up, each once, in order.
AnswerStep relaxationsStep(const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "relaxations";
  std::vector<search::SearchChange> order;
  int found = -1;
  for (std::size_t i = 0; i < graph.attempts.size(); ++i) {
    const search::SearchAttempt& a = graph.attempts[i];
    if (a.channelsAfter > a.channelsBefore) found = static_cast<int>(i);
    if (a.pass == 1 && a.change != search::SearchChange::kFirst &&
        std::find(order.begin(), order.end(), a.change) == order.end())
      order.push_back(a.change);
  }
  std::string list;
  for (const search::SearchChange change : order)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", text(change));
  step.text = order.empty() ? "nothing had to be given up" : "tried in this order: " + list;
  const auto exhausted = std::count_if(graph.attempts.begin(), graph.attempts.end(),
                                       [](const search::SearchAttempt& a) { return a.exhausted; });
  step.inputs = {{"searches", std::to_string(graph.attempts.size())},
                 {"steps", std::to_string(graph.searchSteps)},
                 {"searches that hit their limit of steps", std::to_string(exhausted)}};
  if (found >= 0) step.inputs.push_back({"channels came from search", std::to_string(found + 1)});
  step.threshold = "16384 steps per search, 256 with the same order on all channels";
  if (std::find(order.begin(), order.end(), search::SearchChange::kCrossNic) != order.end())
    step.variable = Setting::kCrossNic;
  return step;
}

AnswerStep endStep(const plan::HostPlan& host, const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "search-end";
  switch (graph.end) {
    case search::SearchEnd::kNotSearched:
      step.text = graph.loadedChannels >= 0 ? "the channels come from the graph file" : "it was not searched";
      step.variable = Setting::kGraphFile;
      break;
    case search::SearchEnd::kAllChannels:
      step.text = fmt::format("the search ended as it had found all {} channels wanted", graph.maxChannels);
      step.threshold = fmt::format("{} channels", graph.maxChannels);
      break;
    case search::SearchEnd::kAllBandwidth:
      step.text = "the search ended as the channels take all that a GPU can send";
      step.inputs = {{"most a GPU sends", bandwidthText(host.totalBandwidth)}};
      step.threshold = "channels times bandwidth at least that";
      break;
    case search::SearchEnd::kBudget:
      step.text = "the search ended as all tries together had used up their steps";
      step.threshold = "524288 steps, of which each search books its limit";
      break;
    case search::SearchEnd::kNothingToGiveUp:
      step.text = graph.nChannels == 0 || graph.fallback
                      ? "the search ended without a channel: nothing was left to give up"
                      : "the search ended as half the bandwidth per channel could not gain anything";
      step.threshold = "next bandwidth of the list at least 0.49 of the one found";
      break;
  }
  return step;
}

// How many full links the sentence of a step names, and how many its inputs list.
constexpr std::size_t kMaxLinksInText = 2;
constexpr std::size_t kMaxLinkInputs = 4;
// How many ways between GPUs an input lists.
constexpr std::size_t kMaxWaysListed = 12;

std::string passageText(const plan::Plan& plan, int rank, const ClosedPassage& stop) {
  std::string gpus;
  for (std::size_t i = 0; i < stop.nodes.size(); ++i) {
    if (i > kMaxLinksInText) {
      gpus += fmt::format(" and {} more", stop.nodes.size() - i);
      break;
    }
    gpus += (i == 0 ? "" : ", ") + nodeName(plan, rank, stop.nodes[i]);
  }
  const char* verb = stop.nodes.size() == 1 ? "reaches" : "reach";
  switch (stop.passage) {
    case Passage::kToGpus:
      return fmt::format("{} {} no other GPU any more", gpus, verb);
    case Passage::kFromGpus:
      return fmt::format("no other GPU reaches {} any more", gpus);
    case Passage::kFromNet:
      return "no channel can start from a NIC any more";
    case Passage::kToNet:
      return "no channel can end at a NIC any more";
  }
  return "";
}

void addLinks(const plan::Plan& plan, int rank, const ClosedPassage& stop, AnswerStep& step) {
  const plan::HostPlan& host = plan.hostOf(rank);
  for (std::size_t i = 0; i < stop.links.size(); ++i) {
    const FullLink& full = stop.links[i];
    const topology::Link& link = host.system().link(full.link);
    const std::string ends =
        fmt::format("{} to {}", nodeName(plan, rank, link.from), nodeName(plan, rank, link.to));
    if (i == 0) step.text += fmt::format(": full is the {} link {}", topology::name(link.type), ends);
    if (i > 0 && i < kMaxLinksInText) step.text += ", " + ends;
    if (i == kMaxLinksInText) step.text += fmt::format(" and {} more", stop.links.size() - i);
    step.sources.push_back(sourceOfLink(host, full.link));
    if (i < kMaxLinkInputs)
      step.inputs.push_back({fmt::format("{} ({})", ends, topology::name(link.type)),
                             fmt::format("{} of {} left, {} wanted", bandwidthText(full.free),
                                         bandwidthText(link.bandwidth), bandwidthText(full.wanted))});
  }
  if (stop.links.size() > kMaxLinkInputs)
    step.inputs.push_back({"more full links", std::to_string(stop.links.size() - kMaxLinkInputs)});
}

AnswerStep stopStep(const plan::Plan& plan, int rank, const ClosedPassage& stop,
                    const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "full-link";
  step.yes = false;
  step.text = passageText(plan, rank, stop);
  addLinks(plan, rank, stop, step);
  if (stop.tooFar)
    step.inputs.push_back({"all other ways are farther than", stop.nodes.empty()
                                                                  ? typeText(graph.typeInter, *plan.nccl)
                                                                  : typeText(graph.typeIntra, *plan.nccl)});
  step.threshold = fmt::format("another channel of {}", bandwidthText(graph.bwIntra));
  return step;
}

AnswerStep orderStep(const plan::Plan& plan, int rank, const BandwidthLeft& left,
                     const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "no-order";
  step.yes = false;
  switch (left.order) {
    case OrderLeft::kNone:
      step.text =
          "no single link stops another channel, but the ways that have room left make no channel "
          "through all GPUs";
      break;
    case OrderLeft::kPerhaps:
      step.text =
          "every GPU has a way on: another channel would take too much of links that ways share, or "
          "lies beyond the steps of the search";
      break;
    case OrderLeft::kTooMany:
      step.text = "every GPU has a way on, but the search found no order of all GPUs for another channel";
      break;
  }
  std::string ways;
  for (std::size_t i = 0; i < left.ways.size() && i < kMaxWaysListed; ++i)
    ways += fmt::format("{}{} to {}", i == 0 ? "" : ", ", nodeName(plan, rank, left.ways[i].first),
                        nodeName(plan, rank, left.ways[i].second));
  if (left.ways.size() > kMaxWaysListed)
    ways += fmt::format(" and {} more", left.ways.size() - kMaxWaysListed);
  step.inputs = {{"ways left", ways.empty() ? "none" : ways}};
  step.threshold = fmt::format("another channel of {}", bandwidthText(graph.bwIntra));
  return step;
}

AnswerStep allChannelsStep(search::GraphKind kind, const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "most-channels";
  step.text = kind == search::GraphKind::kRing
                  ? fmt::format("a ring graph has at most {} channels", graph.maxChannels)
                  : fmt::format("the {} graph is asked for as many channels as the ring graph has: {}",
                                search::name(kind), graph.maxChannels);
  step.threshold = fmt::format("{} channels", graph.maxChannels);
  return step;
}

// Steps that say why the graph has no further channel: the links that are full, or that no order of all GPUs
// is left. Empty for a graph without channels, and for one that consists of neither rings nor trees.
std::vector<AnswerStep> noFurtherChannel(const plan::Plan& plan, int rank, search::GraphKind kind) {
  const search::ChannelGraph& graph = plan.hostOf(rank).graphs[kind];
  const bool counted = kind == search::GraphKind::kRing || kind == search::GraphKind::kTree ||
                       kind == search::GraphKind::kCollnetChain;
  if (!counted || graph.nChannels == 0 || graph.fallback) return {};
  if (graph.nChannels >= graph.maxChannels) return {allChannelsStep(kind, graph)};
  const BandwidthLeft left = bandwidthLeft(plan.hostOf(rank), kind);
  std::vector<AnswerStep> steps;
  for (const ClosedPassage& stop : left.stops) steps.push_back(stopStep(plan, rank, stop, graph));
  if (steps.empty()) steps.push_back(orderStep(plan, rank, left, graph));
  return steps;
}

AnswerStep duplicationStep(const search::ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "duplication";
  step.yes = graph.duplication == search::Duplication::kDoubled;
  step.inputs = {{"per channel", bandwidthText(graph.bwIntra)}};
  step.threshold = fmt::format("at least {}; after sm 80 at least {} if there are more than {} channels",
                               bandwidthText(search::kDuplicateFrom),
                               bandwidthText(search::kDuplicateFromSm90), search::kDuplicateUpTo);
  switch (graph.duplication) {
    case search::Duplication::kNone:
      step.text = "there was nothing to double";
      break;
    case search::Duplication::kDoubled:
      step.text = fmt::format("every channel is there twice at half the bandwidth: {} x {}", graph.nChannels,
                              bandwidthText(graph.bwIntra));
      break;
    case search::Duplication::kPattern:
      step.text = "NVLS channels are not doubled";
      break;
    case search::Duplication::kTooSlow:
      step.text = "channels are not doubled: each has too little bandwidth";
      break;
    case search::Duplication::kEnough:
      step.text = "channels are not doubled: there are many, and each has too little bandwidth";
      break;
  }
  return step;
}

std::string whyNotComputed(search::GraphKind kind) {
  switch (kind) {
    case search::GraphKind::kNvls:
      return "it needs multicast (--nvls, NCCL_NVLS_ENABLE), more than two GPUs, an NVSwitch and sm 90";
    default:
      return "it needs a network that reduces (--collnet, NCCL_COLLNET_ENABLE)";
  }
}

std::string graphSummary(const plan::Plan& plan, search::GraphKind kind) {
  const search::ChannelGraph& graph = plan.hostOf(0).graphs[kind];
  return fmt::format(
      "{} x {} over {}{}", graph.nChannels, bandwidthText(graph.bwIntra), paths::name(graph.typeIntra),
      plan.hostOf(0).system().usesNets() ? fmt::format(", NICs {}", paths::name(graph.typeInter)) : "");
}

void addWhatIfs(const QuestionContext& context, search::GraphKind kind, Answer& answer) {
  const auto describe = [=](const plan::Plan& other) { return graphSummary(other, kind); };
  const topology::System& system = context.plan.hostOf(0).system();
  if (system.count(topology::NodeType::kNet) > 1)
    for (const char* value : {"0", "1"}) tryWith(context, answer, Setting::kCrossNic, value, describe);
  const search::ChannelGraph& graph = context.plan.hostOf(0).graphs[kind];
  if (graph.typeInter == paths::PathType::kPxn || graph.typeIntra == paths::PathType::kPxn)
    tryWith(context, answer, Setting::kPxnDisable, "1", describe);
  if (graph.typeIntra >= paths::PathType::kPhb) tryWith(context, answer, Setting::kP2pLevel, "SYS", describe);
}

}  // namespace

Answer whyChannels(const QuestionContext& context, search::GraphKind kind) {
  const plan::Plan& plan = context.plan;
  constexpr int kRank = 0;
  const plan::HostPlan& host = plan.hostOf(kRank);
  const search::ChannelGraph& graph = host.graphs[kind];
  const bool nets = host.system().usesNets();
  Answer answer;
  answer.question = fmt::format("channels {}", search::name(kind));
  if (graph.attempts.empty() && graph.loadedChannels < 0) {
    const bool always = kind == search::GraphKind::kRing || kind == search::GraphKind::kTree;
    answer.headline =
        fmt::format("{}: not computed: {}", search::name(kind),
                    always ? "the job has several hosts, and this one has no NIC" : whyNotComputed(kind));
    return answer;
  }
  answer.headline = fmt::format("{}: {} channel{}: {}", search::name(kind), graph.nChannels,
                                graph.nChannels == 1 ? "" : "s", graphSummary(plan, kind));
  if (graph.fallback) answer.headline += "; nothing was found, the GPUs stand in simple order";
  if (!graph.attempts.empty()) answer.steps = {startStep(host, graph), relaxationsStep(graph)};
  answer.steps.push_back(endStep(host, graph));
  if (!graph.attempts.empty()) answer.steps.push_back(duplicationStep(graph));
  // The channels of a graph file are taken as they stand: nothing was searched.
  if (graph.loadedChannels <= 0) {
    for (AnswerStep& step : noFurtherChannel(plan, kRank, kind)) answer.steps.push_back(std::move(step));
    answer.tables.push_back(attemptsTable(graph, nets));
  }
  if (plan.hostPlans.size() > 1)
    answer.notes.emplace_back("This is the first host; the job takes the least of all kinds of hosts.");
  answer.notes.emplace_back(
      "The job has more channels than the graph: ask `count` for the rules that follow.");
  addWhatIfs(context, kind, answer);
  return answer;
}

}  // namespace xylem::why
