// why pxn: does a GPU reach a NIC through another GPU?
#include <fmt/format.h>

#include <algorithm>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/paths/find_paths.h"
#include "planner/plan/host_parts.h"

namespace xylem::why {
namespace {

// Whether the NIC, by its number, is the own one of a GPU in another part of the host.
bool isOwnedElsewhere(const plan::Plan& plan, int rank, int dev) {
  const std::vector<int> parts = plan::ranksOfParts(plan, rank);
  return std::ranges::any_of(parts, [&](int one) {
    const HostRules rules(plan, one);
    const auto& nets = rules.system().nodes(topology::NodeType::kNet);
    return std::ranges::any_of(nets, [&](topology::NodeId net) {
      return rules.system().net(net).dev == dev && rules.locality().localGpu(net) != topology::kNoNode;
    });
  });
}

// The GPU that has the NIC among its own: no other one can be the relay.
AnswerStep ownerStep(const plan::Plan& plan, int rank, const HostRules& rules, topology::NodeId net) {
  const topology::NodeId owner = rules.locality().localGpu(net);
  AnswerStep step;
  step.rule = "nic-owner";
  const std::string name = rules.name(net);
  if (owner != topology::kNoNode)
    step.text = fmt::format("{} is the GPU whose own NIC {} is: the only relay NCCL considers",
                            rules.name(owner), name);
  else if (isOwnedElsewhere(plan, rank, rules.system().net(net).dev))
    step.text = fmt::format("the GPUs whose own NIC {} is are in another node of the host", name);
  else
    step.text = fmt::format("no GPU has {} among its nearest NICs", name);
  step.yes = owner != topology::kNoNode;
  std::string near;
  for (topology::NodeId gpu : rules.locality().nearest(net, topology::NodeType::kGpu))
    near += (near.empty() ? "" : ", ") + rules.name(gpu);
  step.inputs.push_back({"GPUs nearest to the NIC", near});
  step.threshold = "most bandwidth, then best path type; the number of links does not count";
  step.sources.push_back(sourceOf(rules.host(), net));
  return step;
}

// Says whether the rings use PXN, and what the search tries before and after it.
std::string useByRings(const plan::HostPlan& host) {
  const topology::System& system = host.system();
  const search::ChannelGraph& ring = host.ring();
  for (int channel = 0; channel < ring.nChannels; ++channel) {
    const topology::NodeId last = system.node(topology::NodeType::kGpu, ring.gpu(channel, ring.gpuCount - 1));
    const topology::NodeId net = system.node(topology::NodeType::kNet, std::max(ring.endNet(channel), 0));
    if (host.paths.paths.path(last, net).type == paths::PathType::kPxn)
      return fmt::format(
          "The rings of this plan leave through PXN: it ({}) is nearer than PHB ({}) in NCCL's order, and "
          "the search takes farther NICs before it lets rings cross NICs (NCCL_CROSS_NIC).",
          paths::typeNumber(paths::PathType::kPxn, system.rules()),
          paths::typeNumber(paths::PathType::kPhb, system.rules()));
  }
  if (ring.crossNic != 0)
    return "The rings of this plan do not use it: crossing NICs gave more channels or bandwidth than PXN, "
           "which the "
           "search tried before (`why channels ring` shows both). Send and receive may use it.";
  return "The rings of this plan do not use it: they end beside their NICs. Send and receive may use it.";
}

}  // namespace

Answer whyPxn(const QuestionContext& context, int rank, topology::NodeId net) {
  const HostRules rules(context.plan, rank);
  const topology::NodeId gpu = context.plan.job().gpuOf(rank);
  const paths::Decision* made = rules.made(paths::Rule::kPxn, gpu, net);
  const paths::Decision decision = made != nullptr ? *made : rules.reach().pxn(gpu, net);
  const paths::PathTable wires = paths::findPaths(rules.system(), !context.plan.reach.nvbDisable);
  // A relay has replaced the path of the plan.
  const paths::Path& own = (decision.yes ? wires : rules.paths()).path(gpu, net);
  Answer answer;
  answer.question = fmt::format("pxn {} {}", gpuName(rank), rules.name(net));
  answer.yes = decision.yes;
  answer.steps.push_back(ownerStep(context.plan, rank, rules, net));
  AnswerStep step = rules.step(decision);
  step.inputs.front() = {"own path", fmt::format("{}, {}", typeText(own.type, rules.system().rules()),
                                                 bandwidthText(own.bandwidth))};
  answer.headline =
      decision.yes
          ? fmt::format("{} reaches {} through {} (PXN): its own path is {}", gpuName(rank), rules.name(net),
                        rules.name(decision.relay), paths::name(own.type))
          : fmt::format("{} reaches {} {}", gpuName(rank), rules.name(net), rules.sentence(decision));
  answer.steps.push_back(std::move(step));
  if (decision.yes) {
    answer.notes.push_back(fmt::format(
        "Only sending goes through {}; what arrives goes straight to {}. Its proxy, of rank {}, "
        "drives the NIC.",
        rules.name(decision.relay), gpuName(rank), rankOfNode(context.plan, rank, decision.relay)));
    answer.notes.push_back(useByRings(context.plan.hostOf(rank)));
    tryWith(context, answer, Setting::kPxnDisable, "1",
            [](const plan::Plan& other) { return channelSummary(other); });
  }
  if (decision.reason == paths::Reason::kDisabled)
    tryWith(context, answer, Setting::kPxnDisable, "0",
            [](const plan::Plan& other) { return channelSummary(other); });
  return answer;
}

}  // namespace xylem::why
