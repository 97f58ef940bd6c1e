#include "cli/insight/diff_input.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "cli/machine_input.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/edit_distance.h"
#include "core/error.h"
#include "planner/plan/planner.h"

namespace xylem::cli {
namespace {

constexpr int kMostNodes = 1 << 24;

struct Side {
  std::string file;
  std::string option;  // --a or --b
  std::vector<std::string> settings;
  std::optional<int> nodes;
};

int nodesOf(std::string_view text) {
  int nodes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nodes);
  if (error != std::errc() || end != text.data() + text.size() || nodes < 1 || nodes > kMostNodes)
    throw InputError({"--nodes", 0}, fmt::format("`{}`", text),
                     "a number of hosts, or one for A and one for B, as 2,4");
  return nodes;
}

void readNodes(const std::string& text, Side& a, Side& b) {
  if (text.empty()) return;
  const std::size_t comma = text.find(',');
  a.nodes = nodesOf(std::string_view(text).substr(0, comma));
  b.nodes = comma == std::string::npos ? a.nodes : nodesOf(std::string_view(text).substr(comma + 1));
}

void set(Settings& settings, const std::string& pair, const std::string& option) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals + 1 == pair.size())
    throw InputError({option, 0}, fmt::format("`{}`", pair), "NAME=VALUE, as NCCL_CROSS_NIC=0");
  const std::string name = pair.substr(0, equals);
  if (const SettingSpec* spec = findSetting(name))
    return settings.set(*spec, pair.substr(equals + 1), option);
  std::vector<std::string> names;
  for (const SettingSpec& spec : settingSpecs()) names.emplace_back(spec.name);
  const std::string nearest = nearestWord(name, names);
  throw InputError({option, 0}, fmt::format("`{}`", name),
                   nearest.empty() ? "a variable that `xylem settings` lists"
                                   : fmt::format("a variable that `xylem settings` lists, as {}", nearest));
}

// The whole text, if it is a plan: topology files start otherwise.
std::optional<std::string> planText(const std::string& file) {
  if (file == "-") return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  in >> std::ws;
  if (in.peek() != '{') return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

PlanFacts factsOfPlanFile(const Side& side, const std::string& text) {
  if (!side.settings.empty())
    throw InputError({side.option, 0}, fmt::format("settings for the plan {}", side.file),
                     "a topology file: a plan in JSON is made already");
  return factsOfJson(text, side.file);
}

// `said`: warnings of the other side, which has the same environment.
PlanFacts planSide(const Side& side, const DiffInput& input, int usualNodes, std::set<std::string>& said) {
  Settings settings = Settings::fromEnvironment();
  for (const std::string& pair : side.settings) set(settings, pair, side.option);
  for (const std::string& warning : settings.warnings())
    if (said.insert(warning).second) warn(warning);
  JobInput job = input.job;
  job.file = side.file;
  job.nodes = side.nodes.value_or(usualNodes);
  const PlanRequest request = readJob(job, settings);
  const Progress progress(fmt::format("planning {}", machineName(side.file)));
  PlanFacts facts = factsOf(planJob(request, settings), request);
  facts.title = machineName(side.file);
  for (const std::string& pair : side.settings) facts.title += " " + pair;
  return facts;
}

}  // namespace

std::pair<PlanFacts, PlanFacts> readSides(const DiffInput& input) {
  Side a{input.a, "--a", input.settingsA, {}};
  Side b{input.b.empty() ? input.a : input.b, "--b", input.settingsB, {}};
  readNodes(input.nodes, a, b);
  if (input.b.empty() && a.settings == b.settings && a.nodes == b.nodes)
    throw InputError({"arguments", 0}, fmt::format("nothing to compare {} with", machineName(input.a)),
                     "a second file, or a setting of one side: --b NCCL_CROSS_NIC=0");
  const std::optional<std::string> textA = planText(a.file);
  const std::optional<std::string> textB = planText(b.file);
  if (textA && textB && !input.nodes.empty())
    throw InputError({"--nodes", 0}, "two plans", "a topology file: a plan in JSON is made already");
  std::optional<PlanFacts> planA;
  std::optional<PlanFacts> planB;
  if (textA) planA = factsOfPlanFile(a, *textA);
  if (textB) planB = factsOfPlanFile(b, *textB);
  // A plan tells how many hosts the other side should have.
  const auto nodesLike = [](const std::optional<PlanFacts>& plan) {
    return plan && plan->hostCount > 0 ? plan->hostCount : 1;
  };
  std::set<std::string> said;
  if (!planA) planA = planSide(a, input, nodesLike(planB), said);
  if (!planB) planB = planSide(b, input, nodesLike(planA), said);
  return {std::move(*planA), std::move(*planB)};
}

}  // namespace xylem::cli
