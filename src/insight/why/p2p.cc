// why p2p: how two GPUs reach each other: by direct access, through shared memory or over the network.
#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"

namespace xylem::why {
namespace {

enum class Transport { kP2p, kShm, kNet };

Transport transportOf(const HostRules& rules, topology::NodeId from, topology::NodeId to) {
  if (rules.reach().transportP2p(from, to).yes) return Transport::kP2p;
  return rules.reach().transportShm(from, to).yes ? Transport::kShm : Transport::kNet;
}

const char* name(Transport transport) {
  switch (transport) {
    case Transport::kP2p:
      return "direct access (P2P)";
    case Transport::kShm:
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

// The transport in a plan under another setting, in which possibly only the network joins the two GPUs.
std::string stateText(const plan::Plan& plan, int from, int to) {
  const topology::NodeId other = plan.job().gpuSeenBy(from, to);
  const Transport transport = other == topology::kNoNode
                                  ? Transport::kNet
                                  : transportOf(HostRules(plan, from), plan.job().gpuOf(from), other);
  return fmt::format("{}; {}", name(transport), channelSummary(plan));
}

}  // namespace

Answer whyP2p(const QuestionContext& context, int from, int to) {
  const plan::Plan& plan = context.plan;
  if (plan.job().hostOf(from) != plan.job().hostOf(to)) return acrossHosts(plan, from, to);
  // GPUs that only the network joins have a plan each. The rules that separated them saw the whole host.
  const bool apart = plan.job().gpuSeenBy(from, to) == topology::kNoNode;
  const plan::HostPlan whole = apart ? wholeHost(plan, from) : plan::HostPlan();
  const HostRules rules(plan, from, apart ? whole : plan.hostOf(from));
  const topology::NodeId a = rules.system().gpuOfRank(plan.job().localOf(from));
  const topology::NodeId b = rules.system().gpuOfRank(plan.job().localOf(to));
  Answer answer;
  answer.question = fmt::format("p2p {} {}", gpuName(from), gpuName(to));
  const auto describe = [=](const plan::Plan& other) { return stateText(other, from, to); };
  // The decision on the path as the planner found it: a refusal then turned it into one through the CPU.
  const paths::Decision* made = rules.made(paths::Rule::kP2p, a, b);
  const paths::Decision level = made != nullptr ? *made : rules.reach().p2p(a, b);
  const Transport transport = transportOf(rules, a, b);
  answer.yes = transport == Transport::kP2p;
  answer.steps.push_back(rules.step(level));
  const std::string outcome = rules.sentence(level);
  answer.headline =
      fmt::format("{} to {}: {}", gpuName(from), gpuName(to),
                  level.yes && *answer.yes ? outcome : fmt::format("{}: {}", name(transport), outcome));
  if (level.yes && level.relay == topology::kNoNode)
    answer.steps.push_back(rules.step(rules.reach().netIsBetter(a, b)));
  if (transport != Transport::kP2p) answer.steps.push_back(rules.step(rules.reach().transportShm(a, b)));
  if (answer.yes && rules.reach().p2pRead(a, b))
    answer.notes.emplace_back("The receiver reads rather than the sender writes: both are sm 80 on NVLink.");
  if (apart)
    answer.notes.emplace_back("NCCL takes the two for different nodes, although they are on one host.");
  answer.notes.emplace_back(
      "A description cannot say whether the driver allows peer access; NCCL asks it as well when it runs.");
  if (level.reason == paths::Reason::kTooFar)
    tryWith(context, answer, Setting::kP2pLevel, paths::name(level.distance), describe);
  if (level.reason == paths::Reason::kNear) tryWith(context, answer, Setting::kP2pDisable, "1", describe);
  if (transport == Transport::kNet) {
    const paths::Decision shm = rules.reach().transportShm(a, b);
    tryWith(context, answer, shm.variable, shm.reason == paths::Reason::kDisabled ? "0" : "1", describe);
  }
  return answer;
}

}  // namespace xylem::why
