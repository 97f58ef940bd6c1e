// why gdr: may a NIC reach a GPU's memory directly?
#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/paths/find_paths.h"

namespace xylem::why {
namespace {

std::string outcomeText(const paths::Decision& receive, const paths::Decision& send) {
  if (receive.yes && send.yes) return "GPU Direct RDMA in both directions";
  if (receive.yes) return "GPU Direct RDMA when receiving only";
  return send.yes ? "GPU Direct RDMA when sending only" : "no GPU Direct RDMA";
}

std::string stateText(const plan::Plan& plan, int rank, topology::NodeId gpu, topology::NodeId net) {
  const HostRules rules(plan, rank);
  return fmt::format("{}; {}",
                     outcomeText(rules.gdr(gpu, net, paths::Direction::kReceive),
                                 rules.gdr(gpu, net, paths::Direction::kSend)),
                     channelSummary(plan));
}

void addWhatIf(const QuestionContext& context, Answer& answer, int rank, const paths::Decision& receive,
               const paths::Decision& send) {
  const topology::NodeId gpu = receive.subject;
  const topology::NodeId net = receive.object;
  const auto describe = [=](const plan::Plan& other) { return stateText(other, rank, gpu, net); };
  const paths::Decision& refusal = receive.yes ? send : receive;
  if (refusal.reason == paths::Reason::kTooFar)
    tryWith(context, answer, Setting::kNetGdrLevel, paths::name(refusal.distance), describe);
  else if (!send.yes && send.variable == Setting::kNetGdrRead)
    tryWith(context, answer, Setting::kNetGdrRead, "1", describe);
  else if (receive.yes && send.yes && receive.distance > paths::PathType::kLoc)
    tryWith(context, answer, Setting::kNetGdrLevel, "LOC", describe);
}

}  // namespace

namespace {

// "LOC 0, NVL 1, ...", up to SYS.
std::string typeNumbers(const rules::RuleSet& rules) {
  std::string text;
  for (int i = 0; i <= static_cast<int>(paths::PathType::kSys); ++i)
    if (const auto type = static_cast<paths::PathType>(i); paths::knowsType(type, rules))
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", paths::name(type), paths::typeNumber(type, rules));
  return text;
}

// NCCL asks the rule again when it sets up the transport, on the final path, and logs that outcome.
std::vector<LogLine> logOf(const HostRules& rules, const paths::Decision& decision,
                           const topology::RankNames& names) {
  return paths::infoLines(decision, rules.system(), rules.reach().gdrOverPci(decision), names);
}

}  // namespace

Answer whyGdr(const QuestionContext& context, int rank, topology::NodeId net) {
  const HostRules rules(context.plan, rank);
  const topology::NodeId gpu = context.plan.job().gpuOf(rank);
  const paths::Decision receive = rules.gdr(gpu, net, paths::Direction::kReceive);
  const paths::Decision send = rules.gdr(gpu, net, paths::Direction::kSend);
  Answer answer;
  answer.question = fmt::format("gdr {} {}", gpuName(rank), rules.name(net));
  answer.yes = receive.yes && send.yes;
  const paths::Decision& telling = receive.yes ? send : receive;
  std::string reason = rules.sentence(telling);
  if (const std::size_t colon = reason.find(": "); colon != std::string::npos)
    reason = reason.substr(colon + 2);
  answer.headline =
      fmt::format("{} and {}: {}: {}", gpuName(rank), rules.name(net), outcomeText(receive, send), reason);
  answer.steps = {rules.step(receive), rules.step(send)};
  if (receive.yes) answer.steps.push_back(rules.step(rules.reach().flush(gpu, net)));
  // The path over the wires alone, before a refusal led it through the CPU. With PXN it starts at the relay.
  const paths::PathTable wires = paths::findPaths(rules.system(), !context.plan.reach.nvbDisable);
  const topology::NodeId from = receive.relay != topology::kNoNode ? receive.relay : gpu;
  answer.steps.push_back(Hops(rules, wires, from, net).typeStep());
  const topology::RankNames names = context.plan.job().rankNames(context.plan.job().hostOf(rank));
  for (paths::Direction direction : {paths::Direction::kReceive, paths::Direction::kSend})
    for (const LogLine& line : logOf(rules, rules.reach().gdr(gpu, net, direction), names))
      if (answer.notes.empty() || answer.notes.back() != "NCCL logs: " + line.text)
        answer.notes.push_back("NCCL logs: " + line.text);
  const bool byAttribute =
      telling.reason == paths::Reason::kNicWithoutGdr || telling.reason == paths::Reason::kGpuWithoutGdr;
  if (byAttribute)
    answer.notes.emplace_back("NCCL logs nothing where the NIC or the GPU is without GPU Direct RDMA.");
  else if (rules.system().rules().gdrLog == rules::GdrLog::kNone)
    answer.notes.push_back(fmt::format("NCCL {} logs nothing about it; versions up to 2.29 do.",
                                       rules::versionText(rules.system().rules().version)));
  answer.notes.push_back("Distances are path types in numbers: " + typeNumbers(rules.system().rules()) + ".");
  if (telling.reason == paths::Reason::kNicWithoutGdr)
    answer.notes.emplace_back(
        "NCCL writes gdr=\"0\" if its plugin can register GPU memory neither through nvidia-peermem (`lsmod "
        "| grep peermem`) nor as DMA-BUF (by the kernel, the GPU's driver and the NIC's).");
  if (!receive.yes || !send.yes)
    answer.notes.emplace_back("Without it data goes through the memory of the GPU's CPU.");
  addWhatIf(context, answer, rank, receive, send);
  return answer;
}

}  // namespace xylem::why
