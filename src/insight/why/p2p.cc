// why p2p: how two GPUs reach each other: by direct access, through shared memory or over the network.
#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/connect/net_choice.h"
#include "planner/plan/host_parts.h"

namespace xylem::why {
namespace {

using connect::TransportKind;

TransportKind transportOf(const plan::Plan& plan, int from, int to) {
  return connect::NetChoice(plan.connections, plan.reach).transport(from, to, paths::Direction::kSend);
}

const char* wayOf(TransportKind transport) {
  switch (transport) {
    case TransportKind::kP2p:
      return "direct access (P2P)";
    case TransportKind::kShm:
      return "shared memory (SHM)";
    default:
      return "the network (NET)";
  }
}

Answer acrossHosts(const plan::Plan& plan, int from, int to) {
  Answer answer;
  answer.question = fmt::format("p2p {} {}", gpuName(from), gpuName(to));
  answer.yes = false;
  answer.headline =
      fmt::format("{} and {} use the network: they are on different hosts", gpuName(from), gpuName(to));
  answer.steps.push_back({.rule = "host",
                          .text = "GPUs of different hosts reach each other over NICs only",
                          .yes = false,
                          .inputs = {{"host of " + gpuName(from), std::to_string(plan.job().hostOf(from))},
                                     {"host of " + gpuName(to), std::to_string(plan.job().hostOf(to))}},
                          .threshold = "the same host",
                          .variable = Setting::kCount,
                          .sources = {}});
  return answer;
}

// Why GPUs of two nodes that are one host share memory all the same.
AnswerStep apartStep(const plan::Plan& plan, int from, int to) {
  const std::vector<int>& node = plan.connections.nodes.ofRank;
  const auto nodeOf = [&](int rank) {
    return AnswerInput{"node of " + gpuName(rank), std::to_string(node[static_cast<std::size_t>(rank)])};
  };
  AnswerStep step;
  step.rule = "shm-apart";
  step.yes = true;
  step.text =
      "shared memory: a rank compares a way with its NICs only within its own node, and these are two nodes "
      "of one host";
  step.inputs = {nodeOf(from), nodeOf(to)};
  step.threshold = "the same host (before 2.30: the same node)";
  step.variable = Setting::kShmDisable;
  return step;
}

}  // namespace

Answer whyP2p(const QuestionContext& context, int from, int to) {
  const plan::Plan& plan = context.plan;
  if (plan.job().hostOf(from) != plan.job().hostOf(to)) return acrossHosts(plan, from, to);
  // GPUs of two nodes that are one host are in different parts of its plan. The rules that separated them saw the whole host.
  const bool apart = plan.job().gpuSeenBy(from, to) == topology::kNoNode;
  const plan::HostPlan whole = apart ? plan::wholeHost(plan, from) : plan::HostPlan();
  const HostRules rules(plan, from, apart ? whole : plan.hostOf(from));
  const topology::NodeId a = rules.system().gpuOfRank(plan.job().localOf(from));
  const topology::NodeId b = rules.system().gpuOfRank(plan.job().localOf(to));
  Answer answer;
  answer.question = fmt::format("p2p {} {}", gpuName(from), gpuName(to));
  const auto describe = [=](const plan::Plan& other) {
    return fmt::format("{}; {}", wayOf(transportOf(other, from, to)), channelSummary(other));
  };
  // The decision on the path as the planner found it: a refusal then turned it into one through the CPU.
  const paths::Decision* made = rules.made(paths::Rule::kP2p, a, b);
  const paths::Decision level = made != nullptr ? *made : rules.reach().p2p(a, b);
  const TransportKind transport = transportOf(plan, from, to);
  const bool sharesApart = apart && transport == TransportKind::kShm;
  answer.yes = transport == TransportKind::kP2p;
  answer.steps.push_back(rules.step(level));
  const std::string outcome = rules.sentence(level);
  answer.headline =
      fmt::format("{} to {}: {}", gpuName(from), gpuName(to),
                  level.yes && *answer.yes ? outcome : fmt::format("{}: {}", wayOf(transport), outcome));
  if (sharesApart || (level.yes && level.relay == topology::kNoNode))
    answer.steps.push_back(rules.step(rules.reach().netIsBetter(a, b)));
  if (sharesApart)
    answer.steps.push_back(apartStep(plan, from, to));
  else if (transport != TransportKind::kP2p)
    answer.steps.push_back(rules.step(rules.reach().transportShm(a, b)));
  if (answer.yes && rules.reach().p2pRead(a, b))
    answer.notes.emplace_back("The receiver reads rather than the sender writes: both are sm 80 on NVLink.");
  if (apart)
    answer.notes.emplace_back("NCCL takes the two for different nodes, although they are on one host.");
  answer.notes.emplace_back(
      "A description cannot say whether the driver allows peer access; NCCL asks it as well when it runs.");
  if (level.reason == paths::Reason::kTooFar)
    tryWith(context, answer, Setting::kP2pLevel, paths::name(level.distance), describe);
  if (level.reason == paths::Reason::kNear) tryWith(context, answer, Setting::kP2pDisable, "1", describe);
  if (sharesApart) tryWith(context, answer, Setting::kShmDisable, "1", describe);
  if (transport == TransportKind::kNet) {
    const paths::Decision shm = rules.reach().transportShm(a, b);
    tryWith(context, answer, shm.variable, shm.reason == paths::Reason::kDisabled ? "0" : "1", describe);
  }
  return answer;
}

}  // namespace xylem::why
