#include "planner/tuning/host_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/error.h"
#include "planner/tuning/steps.h"

namespace xylem::tuning {
namespace {

void setConstant(HostModel& model, std::string_view entry, const std::string& origin) {
  const std::size_t equals = entry.find('=');
  const std::string_view name = entry.substr(0, equals);
  const auto constants = constantsOf(model);
  const auto found = std::find_if(constants.begin(), constants.end(),
                                  [name](const HostConstant& c) { return c.name == name; });
  std::string names;
  for (const HostConstant& c : constants) names += (names.empty() ? "" : ", ") + std::string(c.name);
  if (equals == std::string_view::npos || found == constants.end())
    throw InputError({origin, 0}, "`" + std::string(entry) + "`", "NAME=NUMBER with NAME one of " + names);
  const std::string_view number = entry.substr(equals + 1);
  float value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !(value > 0) || value > 1e6f)
    throw InputError({origin, 0}, "`" + std::string(entry) + "`", "a number above 0 (microseconds or GB/s)");
  *found->value = value;
}

struct Steps {
  int within = 0;   // inside hosts
  int between = 0;  // between hosts
};

// Counts the steps that follow each other on the longest route of the data.
Steps stepsOf(const TuningInput& input, Collective collective, Algorithm algorithm) {
  const int ranksPerNode = std::max(1, input.ranks / std::max(1, input.nodes));
  if (algorithm == Algorithm::kTree)
    return {2 * (ranksPerNode - 1), 2 * log2Ceil(input.nodes)};  // chains inside hosts, up and down
  // To the heads of the host and back; between them a tree, or a network that reduces.
  const int toHeads = ranksPerNode > 1 ? 2 : 0;
  if (algorithm == Algorithm::kNvlsTree) return {toHeads, 2 * log2Ceil(input.nodes)};
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kCollnetDirect)
    return {toHeads, input.nodes > 1 ? 2 : 0};
  if (algorithm == Algorithm::kPat) return {log2Ceil(ranksPerNode), log2Ceil(input.nodes)};
  // Two ranks exchange small data in one step; steps matter for small data alone.
  const bool exchange = input.nodes == 2 && input.ranks == 2 && collective == Collective::kAllReduce;
  if (exchange) return {0, 1};
  const int between = input.nodes > 1 ? ringStepsBetweenNodes(collective, input.nodes) : 0;
  return {std::max(0, ringSteps(collective, input.ranks) - between), between};
}

// Returns the bytes that the busiest rank sends per byte of the operation.
float traffic(const TuningInput& input, Collective collective, Algorithm algorithm) {
  const auto n = static_cast<float>(input.ranks);
  if (algorithm == Algorithm::kTree || algorithm == Algorithm::kNvlsTree) return 2;  // up and down
  if (collective == Collective::kAllReduce) return 2 * (n - 1) / n;
  return gathersOrScatters(collective) ? (n - 1) / n : 1;
}

}  // namespace

std::array<HostConstant, 9> constantsOf(HostModel& m) {
  return {{{"launch", "us", &m.launch},
           {"ll.hop", "us", &m.hop[Protocol::kLl]},
           {"ll128.hop", "us", &m.hop[Protocol::kLl128]},
           {"simple.hop", "us", &m.hop[Protocol::kSimple]},
           {"ll.bw", "GB/s", &m.bandwidth[Protocol::kLl]},
           {"ll128.bw", "GB/s", &m.bandwidth[Protocol::kLl128]},
           {"simple.bw", "GB/s", &m.bandwidth[Protocol::kSimple]},
           {"net.hop", "us", &m.netHop},
           {"net.bw", "GB/s", &m.netBandwidth}}};
}

// Measured on two cores of an AMD EPYC with AVX-512, in a virtual machine, with priority over all other
// processes; the network is loopback.
HostModel::HostModel() {
  launch = 0.2f;
  hop = {0.062f, 0.09f, 0.08f};
  bandwidth = {2.8f, 6.4f, 13.0f};
  netHop = 5.7f;
  netBandwidth = 2.9f;
}

HostModel HostModel::parse(std::string_view text, const std::string& origin) {
  HostModel model;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    setConstant(model, text.substr(0, comma), origin);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return model;
}

std::string HostModel::text() const {
  HostModel copy = *this;
  std::string all;
  for (const HostConstant& c : constantsOf(copy))
    all += fmt::format("{}{}={:.4g}", all.empty() ? "" : ",", c.name, *c.value);
  return all;
}

float hostLatency(const TuningInput& input, const HostModel& model, Collective collective,
                  Algorithm algorithm, Protocol protocol) {
  const Steps steps = stepsOf(input, collective, algorithm);
  return model.launch + static_cast<float>(steps.within) * model.hop[protocol] +
         static_cast<float>(steps.between) * model.netHop;
}

float hostBandwidth(const TuningInput& input, const HostModel& model, Collective collective,
                    Algorithm algorithm, Protocol protocol) {
  const float memory = model.bandwidth[protocol];
  if (input.nodes <= 1) return memory / traffic(input, collective, algorithm);
  // Between hosts, a byte takes the network's time plus the time by which this protocol copies more slowly in
  // memory than the fastest one; memory can still be the limit.
  const float fastest = *std::max_element(model.bandwidth.begin(), model.bandwidth.end());
  const float extra = 1 / memory - 1 / fastest;
  const float perRank = 1 / std::max(1 / memory, 1 / model.netBandwidth + extra);
  return perRank / traffic(input, collective, algorithm);
}

}  // namespace xylem::tuning
