// why algo: the predicted time of every algorithm and protocol for an operation, and the reasons why some
// cannot run it. The numbers are those of the tuning model (planner/tuning/model.h), by which NCCL chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/spelling.h"
#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/gpu_model.h"
#include "planner/tuning/tuning_input.h"

namespace xylem::why {
namespace {

Collective collectiveOf(const std::string& text) {
  if (const std::optional<Collective> collective = collectiveNamed(text)) return *collective;
  std::vector<std::string> names;
  for (const Collective collective : kAllCollectives) names.push_back(lettersOf(name(collective)));
  const std::string nearest = nearestWord(lettersOf(text), names);
  throw InputError({"why", 0}, fmt::format("collective `{}`", text),
                   fmt::format("one of all_reduce, all_gather, reduce_scatter, broadcast, reduce{}",
                               nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

std::uint64_t bytesOf(const std::string& text) {
  if (const std::optional<std::uint64_t> bytes = parseSize(text)) return *bytes;
  throw InputError({"why", 0}, fmt::format("size `{}`", text), "bytes, as 8, 64K, 1.5M, 256 KiB or 2G");
}

std::string sizeText(std::uint64_t bytes) {
  int unit = 0;
  while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

// The factor by which nccl-tests multiplies bytes / time. The product, the bus bandwidth, measures the links
// independently of the collective and of the number of ranks.
double busFactor(Collective collective, int ranks) {
  switch (collective) {
    case Collective::kAllReduce:
      return 2.0 * (ranks - 1) / ranks;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return (ranks - 1.0) / ranks;
    default:
      return 1;
  }
}

// In GB/s; `time` in microseconds.
double busBandwidth(const tuning::Operation& operation, float time, int ranks) {
  return time > 0
             ? static_cast<double>(operation.bytes) / (1000.0 * time) * busFactor(operation.collective, ranks)
             : 0;
}

std::string pairName(const tuning::Candidate& c) {
  return fmt::format("{}/{}", name(c.algorithm), name(c.protocol));
}

AnswerTable ranking(const tuning::TuningModel& model, const tuning::Choice& choice) {
  AnswerTable table{"Candidates, fastest first",
                    {"algorithm", "protocol", "us", "bus GB/s", "latency us", "bandwidth GB/s"},
                    {}};
  for (int i = 0; i < choice.usable; ++i) {
    const tuning::Candidate& c = choice.ranking[static_cast<std::size_t>(i)];
    const Collective collective = choice.operation.collective;
    table.rows.push_back({name(c.algorithm), name(c.protocol), fmt::format("{:.1f}", c.time),
                          fmt::format("{:.1f}", busBandwidth(choice.operation, c.time, model.input.ranks)),
                          fmt::format("{:.1f}", model.latency[collective][c.algorithm][c.protocol]),
                          fmt::format("{:.1f}", model.bandwidth[collective][c.algorithm][c.protocol])});
  }
  return table;
}

// How the model of GPUs comes to the bandwidth of the best candidate.
AnswerTable bandwidthTerms(const tuning::TuningModel& model, const tuning::Choice& choice) {
  const tuning::Candidate& best = *choice.best();
  const Collective collective = choice.operation.collective;
  AnswerTable table{
      fmt::format("How the model comes to the bandwidth of {}", pairName(best)), {"GB/s", "step"}, {}};
  std::vector<tuning::BandwidthTerm> terms;
  const float bandwidth =
      tuning::gpuBandwidth(model.input, collective, best.algorithm, best.protocol, &terms);
  const double bus = busFactor(collective, model.input.ranks);
  terms.push_back({fmt::format("times {:.4g}: as bus bandwidth, which nccl-tests print", bus),
                   static_cast<float>(bandwidth * bus)});
  for (const tuning::BandwidthTerm& term : terms)
    table.rows.push_back({fmt::format("{:.1f}", term.after), term.text});
  return table;
}

AnswerTable excluded(const tuning::TuningModel& model, const tuning::Choice& choice) {
  AnswerTable table{"Left out", {"algorithm", "protocol", "because"}, {}};
  for (std::size_t i = static_cast<std::size_t>(choice.usable); i < choice.ranking.size(); ++i) {
    const tuning::Candidate& c = choice.ranking[i];
    table.rows.push_back({name(c.algorithm), name(c.protocol), tuning::explain(c, choice.operation, model)});
  }
  return table;
}

AnswerStep timeStep(const tuning::TuningModel& model, const tuning::Choice& choice) {
  const tuning::Candidate& best = *choice.best();
  const Collective collective = choice.operation.collective;
  AnswerStep step;
  step.rule = "fastest";
  step.text = fmt::format("{} takes the least time: {:.1f} us", pairName(best), best.time);
  if (const tuning::Candidate* second = choice.runnerUp())
    step.text += fmt::format(", {:.1f} us less than {}", second->time - best.time, pairName(*second));
  step.inputs = {
      {"latency", fmt::format("{:.1f} us", model.latency[collective][best.algorithm][best.protocol])},
      {"bandwidth", bandwidthText(model.bandwidth[collective][best.algorithm][best.protocol])},
      {"bytes", std::to_string(choice.operation.bytes)},
      {"channels", std::to_string(choice.channels)},
      {"warps per channel", std::to_string(choice.warps)}};
  step.threshold =
      "latency + bytes / bandwidth, the smallest of all that may run; what Tree reaches depends on the size, "
      "and Ring/Simple between nodes starts more slowly, as measured";
  step.variable = Setting::kAlgo;
  return step;
}

// Traces the model's bandwidth back to the graph that the algorithm runs on.
AnswerStep modelStep(const plan::Plan& plan, const tuning::TuningModel& model, const tuning::Choice& choice) {
  const tuning::Candidate& best = *choice.best();
  const tuning::TuningInput& input = model.input;
  const float bandwidth = model.bandwidth[choice.operation.collective][best.algorithm][best.protocol];
  const plan::HostPlan& host = plan.hostOf(0);
  AnswerStep step;
  step.rule = "model-bandwidth";
  step.text = fmt::format(
      "the model's bandwidth, {} of bus bandwidth, {}",
      bandwidthText(static_cast<float>(bandwidth * busFactor(choice.operation.collective, input.ranks))),
      input.hostDevices
          ? "comes from constants measured on hosts (`xylem tune --calibrate`)"
          : "is what the search set aside per channel times the channels, less what the protocol "
            "costs (below, step by step)");
  step.inputs = {{"best path of a GPU to a NIC, or to a GPU without NICs", bandwidthText(host.maxBandwidth)},
                 {"most a GPU sends", bandwidthText(host.totalBandwidth)}};
  if (!input.hostDevices) step.threshold = "limits per architecture for LL, LL128 and Tree";
  return step;
}

}  // namespace

Answer whyAlgorithm(const QuestionContext& context, const std::string& collective, const std::string& size) {
  const plan::Plan& plan = context.plan;
  const tuning::Operation operation{.collective = collectiveOf(collective), .bytes = bytesOf(size)};
  const tuning::TuningModel& model = plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))];
  const tuning::Choice choice = tuning::choose(model, operation);
  Answer answer;
  answer.question = fmt::format("algo {} {}", name(operation.collective), sizeText(operation.bytes));
  const tuning::Candidate* best = choice.best();
  if (best == nullptr) {
    answer.headline = fmt::format("nothing can run {} here", name(operation.collective));
    answer.tables.push_back(excluded(model, choice));
    return answer;
  }
  answer.headline =
      fmt::format("{} of {} uses {}: {:.1f} us, {:.1f} GB/s of bus bandwidth, {} channels of {} warps",
                  name(operation.collective), sizeText(operation.bytes), pairName(*best), best->time,
                  busBandwidth(operation, best->time, model.input.ranks), choice.channels, choice.warps);
  answer.steps = {timeStep(model, choice), modelStep(plan, model, choice)};
  answer.tables = {ranking(model, choice)};
  if (!model.input.hostDevices && model.input.ranks > 1)
    answer.tables.push_back(bandwidthTerms(model, choice));
  answer.tables.push_back(excluded(model, choice));
  answer.notes.emplace_back(
      "The model ranks; it does not promise. It counts bandwidth in the steps the search tries (48, 45, 42, "
      "...), "
      "not what the links carry, and latencies of NVIDIA's machines: measurements can be better or worse.");
  if (operation.collective == Collective::kAllGather || operation.collective == Collective::kReduceScatter)
    answer.notes.emplace_back("The size counts the data of all ranks together.");
  const auto chosen = [&](const plan::Plan& other) {
    const tuning::Choice c =
        tuning::choose(other.tuning[static_cast<std::size_t>(other.job().viewOf(0))], operation);
    return c.best() == nullptr ? std::string("nothing can run it")
                               : fmt::format("{}: {:.1f} us", pairName(*c.best()), c.best()->time);
  };
  if (const tuning::Candidate* second = choice.runnerUp()) {
    if (second->algorithm != best->algorithm)
      tryWith(context, answer, Setting::kAlgo, name(second->algorithm), chosen);
    else
      tryWith(context, answer, Setting::kProto, name(second->protocol), chosen);
  }
  return answer;
}

}  // namespace xylem::why
