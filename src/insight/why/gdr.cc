// why gdr: may a NIC reach a GPU's memory directly?
#include <fmt/format.h>

#include "planner/paths/find_paths.h"
#include "insight/why/asked.h"
#include "insight/why/hops.h"
#include "insight/why/names.h"
#include "insight/why/rules.h"

namespace xylem {
namespace {

// The decision that counts: of the moment before a refusal turned the path into one through the CPU.
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

void addWhatIf(const Asked& asked, Answer& answer, int rank, const Decision& receive, const Decision& send) {
  const NodeId gpu = receive.subject;
  const NodeId net = receive.object;
  const auto describe = [=](const Plan& other) { return stateText(other, rank, gpu, net); };
  const Decision& refusal = receive.yes ? send : receive;
  if (refusal.reason == Reason::kTooFar)
    tryWith(asked, answer, Setting::kNetGdrLevel, name(refusal.distance), describe);
  else if (!send.yes && send.variable == Setting::kNetGdrRead)
    tryWith(asked, answer, Setting::kNetGdrRead, "1", describe);
  else if (receive.yes && send.yes && receive.distance > PathType::kLoc)
    tryWith(asked, answer, Setting::kNetGdrLevel, "LOC", describe);
}

}  // namespace

Answer whyGdr(const Asked& asked, int rank, NodeId net) {
  const HostRules rules(asked.plan, rank);
  const NodeId gpu = asked.plan.job().gpuOf(rank);
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
  // As the wires have it: a refusal leads the path through the CPU. With PXN the relay's way counts.
  const PathTable wires = findPaths(rules.system(), !asked.plan.reach.nvbDisable);
  const NodeId from = receive.relay != kNoNode ? receive.relay : gpu;
  answer.steps.push_back(Hops(rules, wires, from, net).typeStep());
  // NCCL asks again when it sets up the transport, on the path as it is then.
  const RankNames names = asked.plan.job().rankNames(asked.plan.job().hostOf(rank));
  for (Direction direction : {Direction::kReceive, Direction::kSend})
    if (const auto line = infoLine(rules.reach().gdr(gpu, net, direction), rules.system(), names))
      if (answer.notes.empty() || answer.notes.back() != "NCCL logs: " + line->text)
        answer.notes.push_back("NCCL logs: " + line->text);
  answer.notes.emplace_back(
      "Distances are path types in numbers: LOC 0, NVL 1, NVB 2, PIX 3, PXB 4, PXN 5, PHB 6, SYS 7.");
  if (!receive.yes || !send.yes)
    answer.notes.emplace_back("Without it data goes through the memory of the GPU's CPU.");
  addWhatIf(asked, answer, rank, receive, send);
  return answer;
}

}  // namespace xylem
