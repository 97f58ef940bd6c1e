// why gdr: may a NIC reach a GPU's memory directly?
#include <fmt/format.h>

#include "planner/paths/find_paths.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "insight/why/names.h"

namespace xylem {
namespace {

// The decision on the path as the planner found it. A refusal then turned the path into one through the CPU,
// so that asking the rule again would give another reason.
Decision decide(const HostRules& rules, NodeId gpu, NodeId net, Direction direction) {
  if (direction == Direction::kReceive)
    if (const Decision* made = rules.made(Rule::kGdrReceive, gpu, net)) return *made;
  return rules.reach().gdr(gpu, net, direction);
}

std::string outcomeText(const Decision& receive, const Decision& send) {
  if (receive.yes && send.yes) return "GPU Direct RDMA in both directions";
  if (receive.yes) return "GPU Direct RDMA when receiving only";
  return send.yes ? "GPU Direct RDMA when sending only" : "no GPU Direct RDMA";
}

std::string stateText(const Plan& plan, int rank, NodeId gpu, NodeId net) {
  const HostRules rules(plan, rank);
  return fmt::format(
      "{}; {}",
      outcomeText(decide(rules, gpu, net, Direction::kReceive), decide(rules, gpu, net, Direction::kSend)),
      channelSummary(plan));
}

void addWhatIf(const QuestionContext& context, Answer& answer, int rank, const Decision& receive,
               const Decision& send) {
  const NodeId gpu = receive.subject;
  const NodeId net = receive.object;
  const auto describe = [=](const Plan& other) { return stateText(other, rank, gpu, net); };
  const Decision& refusal = receive.yes ? send : receive;
  if (refusal.reason == Reason::kTooFar)
    tryWith(context, answer, Setting::kNetGdrLevel, name(refusal.distance), describe);
  else if (!send.yes && send.variable == Setting::kNetGdrRead)
    tryWith(context, answer, Setting::kNetGdrRead, "1", describe);
  else if (receive.yes && send.yes && receive.distance > PathType::kLoc)
    tryWith(context, answer, Setting::kNetGdrLevel, "LOC", describe);
}

}  // namespace

Answer whyGdr(const QuestionContext& context, int rank, NodeId net) {
  const HostRules rules(context.plan, rank);
  const NodeId gpu = context.plan.job().gpuOf(rank);
  const Decision receive = decide(rules, gpu, net, Direction::kReceive);
  const Decision send = decide(rules, gpu, net, Direction::kSend);
  Answer answer;
  answer.question = fmt::format("gdr {} {}", gpuName(rank), rules.name(net));
  answer.yes = receive.yes && send.yes;
  const Decision& telling = receive.yes ? send : receive;
  std::string reason = rules.sentence(telling);
  if (const std::size_t colon = reason.find(": "); colon != std::string::npos)
    reason = reason.substr(colon + 2);
  answer.headline =
      fmt::format("{} and {}: {}: {}", gpuName(rank), rules.name(net), outcomeText(receive, send), reason);
  answer.steps = {rules.step(receive), rules.step(send)};
  // The path over the wires alone, before a refusal led it through the CPU. With PXN it starts at the relay.
  const PathTable wires = findPaths(rules.system(), !context.plan.reach.nvbDisable);
  const NodeId from = receive.relay != kNoNode ? receive.relay : gpu;
  answer.steps.push_back(Hops(rules, wires, from, net).typeStep());
  // NCCL asks the rule again when it sets up the transport, on the final path, and logs that outcome.
  const RankNames names = context.plan.job().rankNames(context.plan.job().hostOf(rank));
  for (Direction direction : {Direction::kReceive, Direction::kSend})
    if (const auto line = infoLine(rules.reach().gdr(gpu, net, direction), rules.system(), names))
      if (answer.notes.empty() || answer.notes.back() != "NCCL logs: " + line->text)
        answer.notes.push_back("NCCL logs: " + line->text);
  answer.notes.emplace_back(
      "Distances are path types in numbers: LOC 0, NVL 1, NVB 2, PIX 3, PXB 4, PXN 5, PHB 6, SYS 7.");
  if (!receive.yes || !send.yes)
    answer.notes.emplace_back("Without it data goes through the memory of the GPU's CPU.");
  addWhatIf(context, answer, rank, receive, send);
  return answer;
}

}  // namespace xylem
