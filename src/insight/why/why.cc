#include "insight/why/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/edit_distance.h"
#include "core/error.h"
#include "insight/why/asked.h"
#include "insight/why/names.h"

namespace xylem {
namespace {

// Beyond this many ranks a second plan is no small matter.
constexpr int kMostRanksToReplan = 4096;

constexpr QuestionKind kQuestions[] = {
    {"gdr", "GPU NIC", "may the NIC reach the GPU's memory directly (GPU Direct RDMA)"},
    {"p2p", "GPU GPU", "may the GPUs reach each other's memory directly, and what they use if not"},
    {"pxn", "GPU NIC", "does the GPU reach the NIC through another GPU"},
    {"path", "GPU GPU|NIC", "the way data takes: each link, the path's type, what limits its bandwidth"},
    {"nic", "GPU [GPU]", "which NICs a GPU uses, through whose proxy, and which ones nobody uses"},
    {"channels", "[ring|tree|chain|direct|nvls]", "what the search tried and what stopped the next channel"},
    {"count", "", "how the number of channels came about"},
    {"algo", "COLLECTIVE SIZE", "what every algorithm and protocol would take, and why some are left out"},
    {"rank", "N", "what NCCL's log lines about rings and trees mean for a rank"},
};

const QuestionKind& kindNamed(const std::string& name) {
  std::vector<std::string> names;
  for (const QuestionKind& kind : kQuestions) {
    if (name == kind.name) return kind;
    names.emplace_back(kind.name);
  }
  const std::string nearest = nearestWord(name, names);
  throw InputError(kOfQuestion, fmt::format("question `{}`", name),
                   fmt::format("one of {}{}", fmt::join(names, ", "),
                               nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

struct GraphName {
  const char* name;
  GraphKind kind;
};
constexpr GraphName kGraphNames[] = {{"ring", GraphKind::kRing},
                                     {"tree", GraphKind::kTree},
                                     {"chain", GraphKind::kCollnetChain},
                                     {"direct", GraphKind::kCollnetDirect},
                                     {"nvls", GraphKind::kNvls}};

GraphKind graphNamed(const std::string& text) {
  for (const GraphName& graph : kGraphNames)
    if (text == graph.name || text == std::string(graph.name) + "s") return graph.kind;
  throw InputError(kOfQuestion, fmt::format("graph `{}`", text), "one of ring, tree, chain, direct, nvls");
}

// Arguments of a question, with the right number of them.
class Arguments {
 public:
  Arguments(const QuestionKind& kind, const std::vector<std::string>& words, std::size_t least,
            std::size_t most)
      : words_(words) {
    const std::size_t count = words.size() - 1;
    if (count >= least && count <= most) return;
    const char* blank = *kind.arguments == '\0' ? "" : " ";
    throw InputError(kOfQuestion, fmt::format("`{}`", fmt::join(words, " ")),
                     fmt::format("{}{}{}", kind.name, blank, kind.arguments));
  }
  std::size_t count() const { return words_.size() - 1; }
  const std::string& operator[](std::size_t i) const { return words_[i + 1]; }

 private:
  const std::vector<std::string>& words_;
};

Answer aboutGpuAndNet(const Asked& asked, const std::string& question, const std::string& gpu,
                      const std::string& net) {
  const int rank = gpuNamed(asked.plan, gpu);
  const NodeId node = netNamed(asked.plan, rank, net);
  if (question == "gdr") return whyGdr(asked, rank, node);
  if (question == "pxn") return whyPxn(asked, rank, node);
  return whyPath(asked, rank, -1, node);
}

Answer answerTo(const Asked& asked, const std::vector<std::string>& words) {
  const QuestionKind& kind = kindNamed(words.front());
  const std::string& question = words.front();
  if (question == "gdr" || question == "pxn") {
    const Arguments arguments(kind, words, 2, 2);
    // In either order.
    const bool netFirst = namesNet(asked.plan, arguments[0]);
    return aboutGpuAndNet(asked, question, arguments[netFirst ? 1 : 0], arguments[netFirst ? 0 : 1]);
  }
  if (question == "path") {
    const Arguments arguments(kind, words, 2, 2);
    if (namesNet(asked.plan, arguments[1]))
      return aboutGpuAndNet(asked, question, arguments[0], arguments[1]);
    return whyPath(asked, gpuNamed(asked.plan, arguments[0]), gpuNamed(asked.plan, arguments[1]), kNoNode);
  }
  if (question == "p2p") {
    const Arguments arguments(kind, words, 2, 2);
    return whyP2p(asked, gpuNamed(asked.plan, arguments[0]), gpuNamed(asked.plan, arguments[1]));
  }
  if (question == "nic") {
    const Arguments arguments(kind, words, 1, 2);
    return whyNic(asked, gpuNamed(asked.plan, arguments[0]),
                  arguments.count() == 2 ? gpuNamed(asked.plan, arguments[1]) : -1);
  }
  if (question == "channels") {
    const Arguments arguments(kind, words, 0, 1);
    return whyChannels(asked, arguments.count() == 0 ? GraphKind::kRing : graphNamed(arguments[0]));
  }
  if (question == "count") {
    const Arguments arguments(kind, words, 0, 0);
    return whyCount(asked);
  }
  if (question == "algo") {
    const Arguments arguments(kind, words, 2, 2);
    return whyAlgorithm(asked, arguments[0], arguments[1]);
  }
  const Arguments arguments(kind, words, 1, 1);
  return whyRank(asked, gpuNamed(asked.plan, arguments[0]));
}

// Questions in which a NIC occurs, although a job of one host uses none.
bool needsNets(const Plan& plan, const std::vector<std::string>& words) {
  if (plan.hostOf(0).system().count(NodeType::kNet) > 0) return false;
  const std::string& question = words.front();
  if (question == "gdr" || question == "pxn" || question == "nic") return true;
  return question == "path" && words.size() == 3 &&
         (words[2].starts_with("nic") || words[2].starts_with("net"));
}

}  // namespace

void tryWith(const Asked& asked, Answer& answer, Setting setting, const std::string& value,
             const std::function<std::string(const Plan&)>& describe) {
  if (asked.plan.job().ranks() > kMostRanksToReplan || asked.settings.text(setting) == value) return;
  Settings changed = asked.settings;
  changed.set(spec(setting), value, "what if");
  WhatIf whatIf{fmt::format("{}={}", spec(setting).name, value), ""};
  try {
    whatIf.outcome = describe(planJob(asked.request, changed));
  } catch (const Error& error) {
    whatIf.outcome = fmt::format("NCCL would fail: {}", error.what());
  }
  answer.whatIfs.push_back(std::move(whatIf));
}

std::string channelSummary(const Plan& plan) {
  const HostPlan& host = plan.hostOf(0);
  return fmt::format("ring {} x {}, tree {} x {}, {} channels", host.ring().nChannels,
                     bandwidthText(host.ring().bwIntra), host.tree().nChannels,
                     bandwidthText(host.tree().bwIntra), plan.connections.nChannels());
}

std::span<const QuestionKind> questionKinds() { return kQuestions; }

Inquiry::Inquiry(PlanRequest request, Settings settings)
    : request_(std::move(request)),
      settings_(std::move(settings)),
      plan_(std::make_unique<const Plan>(planJob(request_, settings_))) {}

Answer Inquiry::ask(const std::vector<std::string>& words) const {
  const std::vector<std::string> joined = joinNames(words);
  if (joined.empty()) {
    std::vector<std::string> names;
    for (const QuestionKind& kind : kQuestions) names.emplace_back(kind.name);
    throw InputError(kOfQuestion, "no question", fmt::format("one of {}", fmt::join(names, ", ")));
  }
  if (!needsNets(*plan_, joined)) return answerTo({*plan_, request_, settings_}, joined);
  // NCCL forgets all NICs of a job that fits into one host.
  PlanRequest twice = request_;
  twice.hostOfRank.clear();
  for (HostRequest& host : twice.hosts) host.count *= 2;
  const Plan plan = planJob(twice, settings_);
  Answer answer = answerTo({plan, twice, settings_}, joined);
  answer.notes.emplace_back(
      "The job fits into one host and uses no NIC; this is the answer for a job of two such hosts.");
  return answer;
}

}  // namespace xylem
