// why count: how the number of channels comes about, rule by rule: the search's channels are doubled, limited
// and rounded in the order of ViewDecisions::channels.steps.
#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "planner/connect/p2p.h"

namespace xylem::why {
namespace {

const char* nameOf(connect::CountRule rule) {
  switch (rule) {
    case connect::CountRule::kSearched:
      return "searched";
    case connect::CountRule::kTwoTrees:
      return "two-trees";
    case connect::CountRule::kCollnet:
      return "collnet-half-more";
    case connect::CountRule::kFastGpus:
      return "fast-gpus-double";
    case connect::CountRule::kMost:
      return "maximum";
    case connect::CountRule::kLeast:
      return "minimum";
    case connect::CountRule::kNvls:
      return "nvls";
  }
  return "";
}

std::string number(int value) { return std::to_string(value); }

void explainSearched(const plan::Plan& plan, AnswerStep& step) {
  for (std::size_t view = 0; view < plan.hostPlans.size(); ++view) {
    const plan::HostPlan& host = *plan.hostPlans[view];
    const std::string of = plan.hostPlans.size() > 1 ? fmt::format(" of kind {}", view) : "";
    step.inputs.push_back({"ring channels" + of, number(host.ring().nChannels)});
    step.inputs.push_back({"tree channels" + of, number(host.tree().nChannels)});
  }
  step.text = "channels that the ring and the tree graph of all hosts have";
  step.threshold = "the least of all (ask `channels ring`, `channels tree`)";
}

void explainFast(const plan::Plan& plan, AnswerStep& step) {
  const connect::Connections& c = plan.connections;
  step.text = "twice as many on several nodes of fast GPUs whose rings have much bandwidth";
  step.inputs = {{"lowest sm", number(c.lowestSm)},
                 {"nodes", number(c.nodes.count())},
                 {"ring, per channel", bandwidthText(c.merged[search::GraphKind::kRing].bwIntra)}};
  step.threshold =
      fmt::format("sm at least {}, several nodes, more than {} per channel, fewer than {} channels",
                  connect::kDoubleFromSm, bandwidthText(connect::kDoubleFrom), connect::kDoubleBelow);
}

void explainLimits(const plan::Plan& plan, connect::CountRule rule, AnswerStep& step) {
  const connect::ChannelLimits& limits = plan.connections.options.limits;
  if (rule == connect::CountRule::kMost) {
    step.text = "no more than the maximum";
    step.inputs = {{"NCCL_MAX_NCHANNELS", number(limits.userMax)}, {"NCCL_MAX_CTAS", number(limits.maxCtas)}};
    step.threshold = number(std::min(limits.userMax, limits.maxCtas));
    step.variable = Setting::kMaxNChannels;
  } else {
    step.text = "no fewer than the minimum; further channels repeat the first ones";
    step.inputs = {{"NCCL_MIN_NCHANNELS", number(limits.userMin)}, {"NCCL_MIN_CTAS", number(limits.minCtas)}};
    step.threshold = number(std::max(limits.userMin, limits.minCtas));
    step.variable = Setting::kMinNChannels;
  }
}

AnswerStep stepOf(const plan::Plan& plan, const connect::CountStep& count) {
  AnswerStep step;
  step.rule = nameOf(count.rule);
  step.yes = count.applies;
  switch (count.rule) {
    case connect::CountRule::kSearched:
      explainSearched(plan, step);
      break;
    case connect::CountRule::kTwoTrees:
      step.text = "twice as many: the second half carries the second of the two trees";
      step.threshold = number(paths::kMaxChannels) + " channels at most";
      break;
    case connect::CountRule::kCollnet: {
      const connect::MergedGraph& chain = plan.connections.merged[search::GraphKind::kCollnetChain];
      step.text = "half as many more if CollNet chains are faster inside the hosts than between them";
      step.inputs = {{"CollNet", plan.connections.collnet ? "yes" : "no"},
                     {"chain inside", bandwidthText(chain.bwIntra)},
                     {"chain between", bandwidthText(chain.bwInter)}};
      step.threshold = "more bandwidth inside than between";
      step.variable = Setting::kCollnetEnable;
      break;
    }
    case connect::CountRule::kFastGpus:
      explainFast(plan, step);
      break;
    case connect::CountRule::kMost:
    case connect::CountRule::kLeast:
      explainLimits(plan, count.rule, step);
      break;
    case connect::CountRule::kNvls:
      if (!plan.nccl->nvlsAddsChannels) {
        step.text = "a job need not have as many as NVLS uses";
        step.inputs = {{"NVLS channels", number(plan.connections.of(0).nvlsChannels)}};
        break;
      }
      step.text = "at least as many as NVLS uses; other collectives do not use the additional ones";
      step.inputs = {{"NVLS channels", number(plan.connections.of(0).nvlsChannels)}};
      step.threshold = number(plan.connections.of(0).nvlsChannels);
      step.variable = Setting::kNvlsNChannels;
      break;
  }
  step.text += count.before == count.after ? fmt::format(": stays {}", count.after)
               : count.rule == connect::CountRule::kSearched
                   ? fmt::format(": {}", count.after)
                   : fmt::format(": {} -> {}", count.before, count.after);
  step.inputs.push_back({"before", number(count.before)});
  step.inputs.push_back({"after", number(count.after)});
  return step;
}

void addLocalPair(const plan::Plan& plan, const plan::HostPlan& host, int rank, topology::NodeId gpu,
                  topology::NodeId peer, AnswerStep& step) {
  step.text += fmt::format(": twice the NVLinks' worth of the path from {} to {}, or 2 without NVLink",
                           nodeName(plan, rank, peer), nodeName(plan, rank, gpu));
  step.sources = {sourceOf(host, peer), sourceOf(host, gpu)};
}

void addLimit(const plan::Plan& plan, AnswerStep& step) {
  const connect::Connections& c = plan.connections;
  const plan::HostPlan& host = plan.hostOf(0);
  const connect::P2pChannels p2p =
      connect::countP2pChannels(c.job.view(0), c.job.ranks(), c.of(0).channels.total(), c.options);
  if (p2p.limit == connect::PeerLimit::kLocal) {
    addLocalPair(plan, host, 0, p2p.gpu, p2p.peer, step);
  } else if (p2p.limit == connect::PeerLimit::kNet) {
    step.text += ": as many NICs as fill a GPU's link to its CPU, at most 2 with so many ranks per channel";
    step.variable = Setting::kNChannelsPerNetPeer;
    step.sources = {sourceOf(host, p2p.gpu)};
  }
}

// By newer rules all ranks take the least that any of them wants, and less where a channel would serve too many peers.
void addLeastNeed(const plan::Plan& plan, AnswerStep& step) {
  const connect::Connections& c = plan.connections;
  const connect::P2pNeed need = connect::leastP2pNeed(c);
  int rank = 0;
  while (rank + 1 < c.job.ranks() && c.job.viewOf(rank) != need.view) ++rank;
  const plan::HostPlan& host = *plan.hostPlans[static_cast<std::size_t>(need.view)];
  if (need.limit == connect::PeerLimit::kLocal) {
    addLocalPair(plan, host, rank, need.gpu, need.peer, step);
  } else if (need.limit == connect::PeerLimit::kNet) {
    step.text += fmt::format(": as many as the NICs of {} fill at {} GB/s each",
                             nodeName(plan, rank, need.gpu), c.options.netBandwidthPerP2pChannel);
    step.inputs.push_back({"NCCL_P2P_PER_CHANNEL_NET_BW", number(c.options.netBandwidthPerP2pChannel)});
    step.variable = Setting::kNChannelsPerNetPeer;
    step.sources = {sourceOf(host, need.gpu)};
  }
  step.inputs.push_back({"wanted per peer", number(need.channels)});
  if (c.of(0).p2pChannelsPerPeer < connect::p2pChannelsPerPeer(c))
    step.text += fmt::format("; halved while {} peers need more than all channels, eight to a channel",
                             connect::p2pPeers(c));
}

AnswerStep p2pStep(const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  const connect::ViewDecisions& mine = c.of(0);
  AnswerStep step;
  step.rule = "send-receive";
  step.inputs = {{"channels", number(mine.channels.total())},
                 {"NCCL_MIN_P2P_NCHANNELS", number(c.options.minP2pChannels)},
                 {"NCCL_MAX_P2P_NCHANNELS", number(c.options.maxP2pChannels)}};
  step.text =
      fmt::format("send and receive use {} channels, {} per peer", mine.p2pChannels, mine.p2pChannelsPerPeer);
  step.threshold = "rounded up to powers of two";
  step.variable = Setting::kMaxP2pNChannels;
  if (c.rules().p2pByNetBandwidth)
    addLeastNeed(plan, step);
  else
    addLimit(plan, step);
  return step;
}

std::string countsText(const plan::Plan& plan) {
  const connect::ViewDecisions& mine = plan.connections.of(0);
  return fmt::format("{} channels ({} for collectives), {} for send/receive, {} per peer",
                     mine.channels.total(), mine.channels.collective, mine.p2pChannels,
                     mine.p2pChannelsPerPeer);
}

}  // namespace

Answer whyCount(const QuestionContext& context) {
  const plan::Plan& plan = context.plan;
  const connect::ViewDecisions& mine = plan.connections.of(0);
  Answer answer;
  answer.question = "count";
  std::string way;
  for (const connect::CountStep& count : mine.channels.steps) {
    answer.steps.push_back(stepOf(plan, count));
    if (count.before != count.after) way += fmt::format("{}{}", way.empty() ? "" : " -> ", count.after);
  }
  answer.headline = fmt::format("{}: {}", countsText(plan), way);
  answer.steps.push_back(p2pStep(plan));
  for (std::size_t view = 1; view < plan.hostPlans.size(); ++view)
    if (plan.connections.views[view].channels.total() != mine.channels.total())
      answer.notes.push_back(fmt::format(
          "Ranks of host kind {} count {} channels: ranks that differ wait for each other for ever.", view,
          plan.connections.views[view].channels.total()));
  const int twice = std::min(2 * mine.channels.total(), paths::kMaxChannels);
  tryWith(context, answer, Setting::kMinNChannels, number(twice), countsText);
  if (mine.channels.total() > 1)
    tryWith(context, answer, Setting::kMaxNChannels, number(mine.channels.total() / 2), countsText);
  return answer;
}

}  // namespace xylem::why
