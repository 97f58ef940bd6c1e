// Reads the words of a question, calls the function that answers it (questions.h), and plans again under
// other settings for what-ifs.
#include "insight/why/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/edit_distance.h"
#include "core/error.h"
#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/versions.h"
#include "planner/plan/json_value.h"
#include "planner/plan/public_plan.h"

namespace xylem::why {
namespace {

// Larger jobs take too long to be planned a second time for a what-if.
constexpr int kMaxRanksToReplan = 4096;
// Comparing with older rules plans the job tens of times.
constexpr int kMaxRanksToCompare = 512;

constexpr QuestionKind kQuestions[] = {
    {"gdr", "[GPU NIC]", "may the NIC reach the GPU's memory directly (GPU Direct RDMA); without them: all"},
    {"p2p", "[GPU GPU]", "may the GPUs reach each other's memory directly, and what they use if not"},
    {"pxn", "GPU NIC", "does the GPU reach the NIC through another GPU"},
    {"path", "GPU GPU|NIC", "the way data takes: each link, the path's type, what limits its bandwidth"},
    {"nic", "[GPU [GPU]]", "which NICs a GPU uses, through whose proxy, and which ones nobody uses"},
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
  search::GraphKind kind;
};
constexpr GraphName kGraphNames[] = {{"ring", search::GraphKind::kRing},
                                     {"tree", search::GraphKind::kTree},
                                     {"chain", search::GraphKind::kCollnetChain},
                                     {"direct", search::GraphKind::kCollnetDirect},
                                     {"nvls", search::GraphKind::kNvls}};

search::GraphKind graphNamed(const std::string& text) {
  for (const GraphName& graph : kGraphNames)
    if (text == graph.name || text == std::string(graph.name) + "s") return graph.kind;
  throw InputError(kOfQuestion, fmt::format("graph `{}`", text), "one of ring, tree, chain, direct, nvls");
}

// The arguments of a question; the constructor throws if there are too few or too many.
class Arguments {
 public:
  Arguments(const QuestionKind& kind, const std::vector<std::string>& words, std::size_t min, std::size_t max)
      : words_(words) {
    const std::size_t count = words.size() - 1;
    if (count >= min && count <= max) return;
    const char* blank = *kind.arguments == '\0' ? "" : " ";
    throw InputError(kOfQuestion, fmt::format("`{}`", fmt::join(words, " ")),
                     fmt::format("{}{}{}", kind.name, blank, kind.arguments));
  }
  std::size_t count() const { return words_.size() - 1; }
  const std::string& operator[](std::size_t i) const { return words_[i + 1]; }

 private:
  const std::vector<std::string>& words_;
};

Answer aboutGpuAndNet(const QuestionContext& context, const std::string& question, const std::string& gpu,
                      const std::string& net) {
  const int rank = gpuNamed(context.plan, gpu);
  const topology::NodeId node = netNamed(context.plan, rank, net);
  if (question == "gdr") return whyGdr(context, rank, node);
  if (question == "pxn") return whyPxn(context, rank, node);
  return whyPath(context, rank, -1, node);
}

Answer answerTo(const QuestionContext& context, const std::vector<std::string>& words) {
  const QuestionKind& kind = kindNamed(words.front());
  const std::string& question = words.front();
  if (words.size() == 1) {
    if (question == "gdr") return whyGdrOfAll(context);
    if (question == "nic") return whyNicOfAll(context);
    if (question == "p2p") return whyP2pOfAll(context);
  }
  if (question == "gdr" || question == "pxn") {
    const Arguments arguments(kind, words, 2, 2);
    // The GPU and the NIC may come in either order.
    const bool netFirst = namesNet(context.plan, arguments[0]);
    return aboutGpuAndNet(context, question, arguments[netFirst ? 1 : 0], arguments[netFirst ? 0 : 1]);
  }
  if (question == "path") {
    const Arguments arguments(kind, words, 2, 2);
    if (namesNet(context.plan, arguments[1]))
      return aboutGpuAndNet(context, question, arguments[0], arguments[1]);
    return whyPath(context, gpuNamed(context.plan, arguments[0]), gpuNamed(context.plan, arguments[1]),
                   topology::kNoNode);
  }
  if (question == "p2p") {
    const Arguments arguments(kind, words, 2, 2);
    return whyP2p(context, gpuNamed(context.plan, arguments[0]), gpuNamed(context.plan, arguments[1]));
  }
  if (question == "nic") {
    const Arguments arguments(kind, words, 1, 2);
    return whyNic(context, gpuNamed(context.plan, arguments[0]),
                  arguments.count() == 2 ? gpuNamed(context.plan, arguments[1]) : -1);
  }
  if (question == "channels") {
    const Arguments arguments(kind, words, 0, 1);
    return whyChannels(context, arguments.count() == 0 ? search::GraphKind::kRing : graphNamed(arguments[0]));
  }
  if (question == "count") {
    const Arguments arguments(kind, words, 0, 0);
    return whyCount(context);
  }
  if (question == "algo") {
    const Arguments arguments(kind, words, 2, 3);
    // A size may be two words: 256 KiB.
    return whyAlgorithm(context, arguments[0], arguments[1] + (arguments.count() == 3 ? arguments[2] : ""));
  }
  const Arguments arguments(kind, words, 1, 1);
  return whyRank(context, gpuNamed(context.plan, arguments[0]));
}

// True if the question is about a NIC, but the job uses none: it is on one host.
bool needsNets(const plan::Plan& plan, const std::vector<std::string>& words) {
  if (plan.hostOf(0).system().usesNets()) return false;
  const std::string& question = words.front();
  if (question == "gdr" || question == "pxn" || question == "nic") return true;
  return question == "path" && words.size() == 3 &&
         (words[2].starts_with("nic") || words[2].starts_with("net"));
}

}  // namespace

void tryWith(const QuestionContext& context, Answer& answer, Setting setting, const std::string& value,
             const std::function<std::string(const plan::Plan&)>& describe) {
  if (!context.whatIfs || context.plan.job().ranks() > kMaxRanksToReplan ||
      context.settings.text(setting) == value)
    return;
  Settings changed = context.settings;
  changed.set(spec(setting), value, "what if");
  WhatIf whatIf{fmt::format("{}={}", spec(setting).name, value), ""};
  try {
    whatIf.outcome = describe(plan::planJob(context.request, changed));
  } catch (const Error& error) {
    whatIf.outcome = fmt::format("NCCL would fail: {}", error.what());
  }
  answer.whatIfs.push_back(std::move(whatIf));
}

std::string channelSummary(const plan::Plan& plan) {
  const plan::HostPlan& host = plan.hostOf(0);
  return fmt::format("ring {} x {}, tree {} x {}, {} channels", host.ring().nChannels,
                     bandwidthText(host.ring().bwIntra), host.tree().nChannels,
                     bandwidthText(host.tree().bwIntra), plan.connections.nChannels());
}

std::span<const QuestionKind> questionKinds() { return kQuestions; }

Inquiry::Inquiry(plan::PlanRequest request, Settings settings)
    : request_(std::move(request)),
      settings_(std::move(settings)),
      plan_(std::make_unique<const plan::Plan>(plan::planJob(request_, settings_))) {}

Answer Inquiry::ask(const std::vector<std::string>& words) const {
  const std::vector<std::string> joined = joinNames(words);
  if (joined.empty()) {
    std::vector<std::string> names;
    for (const QuestionKind& kind : kQuestions) names.emplace_back(kind.name);
    throw InputError(kOfQuestion, "no question", fmt::format("one of {}", fmt::join(names, ", ")));
  }
  const auto withVersions = [&](const plan::Plan& plan, const plan::PlanRequest& request) {
    Answer answer = answerTo({plan, request, settings_}, joined);
    if (plan.job().ranks() <= kMaxRanksToCompare)
      addVersionRules(answer, request, settings_, [&](const plan::Plan& older) {
        return answerTo({older, request, settings_, false}, joined);
      });
    answer.ranks = plan.job().ranks();
    answer.hosts = plan.job().hosts();
    return answer;
  };
  if (!needsNets(*plan_, joined)) return withVersions(*plan_, request_);
  // Answer for twice as many hosts: then the job has NICs.
  plan::PlanRequest twice = request_;
  twice.hostOfRank.clear();
  for (plan::HostRequest& host : twice.hosts) host.count *= 2;
  const plan::Plan plan = plan::planJob(twice, settings_);
  if (plan.hostOf(0).system().count(topology::NodeType::kNet) == 0)  // nor has the machine any
    return withVersions(*plan_, request_);
  Answer answer = withVersions(plan, twice);
  answer.notes.emplace_back(
      "The job fits into one host and uses no NIC; this is the answer for a job of two such hosts.");
  return answer;
}

}  // namespace xylem::why

namespace xylem {

std::string JobPlan::why(const std::vector<std::string>& question) const {
  return guarded([&] {
    const why::Answer answer = why::Inquiry(state().request, state().settings).ask(question);
    return plan::jsonText(why::toJson(answer), 2) + '\n';
  });
}

}  // namespace xylem
