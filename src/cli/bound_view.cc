#include "cli/bound_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/machine_text.h"
#include "cli/number_text.h"

namespace xylem::cli {
namespace {

// More links are counted instead of named.
constexpr std::size_t kMaxLinksNamed = 4;
constexpr double kPercentOfWhole = 100;

// "GPU 0-3"
std::string gpusText(const std::vector<int>& gpus, const topology::System& system) {
  std::vector<int> ranks;
  for (const int gpu : gpus) ranks.push_back(system.gpu(system.node(topology::NodeType::kGpu, gpu)).rank);
  std::sort(ranks.begin(), ranks.end());
  return "GPU " + listText(ranks);
}

std::string sideText(const std::vector<int>& gpus, bool network, const topology::System& system) {
  if (gpus.empty()) return "the network";
  return gpusText(gpus, system) + (network ? " and the network" : "");
}

std::string linkText(const topology::Link& link, const topology::System& system) {
  return fmt::format("{} {:.1f} {} - {}", topology::name(link.type), link.bandwidth,
                     nodeLabel(system, link.from), nodeLabel(system, link.to));
}

// The first few links by name, and how many more there are.
std::string linksText(const std::vector<topology::LinkId>& links, const topology::System& system) {
  std::vector<std::string> texts;
  for (const topology::LinkId link : links) texts.push_back(linkText(system.link(link), system));
  const std::size_t named = std::min(texts.size(), kMaxLinksNamed);
  std::string text =
      fmt::format("{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (texts.size() > named) text += fmt::format(" and {} more", texts.size() - named);
  return text;
}

plan::Json namesJson(const std::vector<int>& gpus, const topology::System& system) {
  plan::Json names = plan::Json::array();
  for (const int gpu : gpus) names.push_back(system.name(system.node(topology::NodeType::kGpu, gpu)));
  return names;
}

plan::Json linkJson(topology::LinkId id, const topology::System& system) {
  const topology::Link& link = system.link(id);
  return {{"from", system.name(link.from)},
          {"to", system.name(link.to)},
          {"type", topology::name(link.type)},
          {"bandwidth", plan::number(link.bandwidth)}};
}

}  // namespace

const char* plural(search::GraphKind kind) { return kind == search::GraphKind::kRing ? "rings" : "trees"; }

std::string limitText(const optimum::Bound& bound, const topology::System& system) {
  if (!bound.cutIsTight) {
    std::vector<topology::LinkId> links;
    for (const optimum::Bottleneck& bottleneck : bound.bottlenecks) links.push_back(bottleneck.link);
    return "short of " + linksText(links, system);
  }
  const optimum::Cut& cut = bound.cut;
  return fmt::format("all cross {}, {} {} {} {}", linksText(cut.links, system),
                     cut.bothWays ? "between" : "from", sideText(cut.near, cut.networkNear, system),
                     cut.bothWays ? "and" : "to",
                     sideText(cut.far, !cut.networkNear && system.usesNets(), system));
}

std::string boundLine(const optimum::PlanBound& bound, const plan::HostPlan& host, const Terminal& screen) {
  const topology::System& system = host.system();
  if (host.graphs[bound.kind].fallback)
    return fmt::format(
        "{} were not found by the search: one channel has the GPUs in their order and counts as {:.1f} GB/s",
        plural(bound.kind), bound.achieved);
  const double part = bound.achieved / bound.bound.bandwidth;
  // More than the bound is possible for a graph file that was made for something else.
  if (part > 1.005)
    return fmt::format("{} claim {:.1f} GB/s together where no more than {:.1f} can be: {}",
                       plural(bound.kind), bound.achieved, bound.bound.bandwidth,
                       "the graph file is of another machine, number of hosts or NCCL_CROSS_NIC");
  // Rounded down: only the bound itself is 100%.
  const std::string percent = fmt::format("{:.0f}%", std::floor(part * kPercentOfWhole + 0.1));
  return fmt::format(
      "{} have {:.1f} GB/s together, {} of the bound {:.1f}{}: {}", plural(bound.kind), bound.achieved,
      screen.paint(part > 0.995 ? Style::kGreen : Style::kYellow, percent), bound.bound.bandwidth,
      bound.cutAlone && part <= 0.995 ? ", which --bounds may lower" : "", limitText(bound.bound, system));
}

plan::Json boundJson(const optimum::Bound& bound, const topology::System& system) {
  plan::Json cut = {{"bandwidth", bound.cut.bandwidth},        {"near", namesJson(bound.cut.near, system)},
                    {"far", namesJson(bound.cut.far, system)}, {"networkNear", bound.cut.networkNear},
                    {"bothWays", bound.cut.bothWays},          {"links", plan::Json::array()}};
  for (const topology::LinkId link : bound.cut.links) cut["links"].push_back(linkJson(link, system));
  plan::Json bottlenecks = plan::Json::array();
  for (const optimum::Bottleneck& bottleneck : bound.bottlenecks) {
    plan::Json link = linkJson(bottleneck.link, system);
    link["weight"] = bottleneck.weight;
    bottlenecks.push_back(std::move(link));
  }
  return {{"bandwidth", bound.bandwidth},
          {"cutIsTight", bound.cutIsTight},
          {"cut", std::move(cut)},
          {"program", bound.program},
          {"bottlenecks", std::move(bottlenecks)}};
}

plan::Json boundsJson(const std::vector<optimum::PlanBound>& bounds, const topology::System& system) {
  plan::Json json = plan::Json::object();
  for (const optimum::PlanBound& bound : bounds) {
    plan::Json entry = {{"achieved", bound.achieved}, {"cutAlone", bound.cutAlone}};
    entry.update(boundJson(bound.bound, system));
    json[search::name(bound.kind)] = std::move(entry);
  }
  return json;
}

std::string channelUseText(const optimum::ChannelUse& use) {
  if (!use.isIgnored()) return "";
  return fmt::format(
      "\nThe predicted times ignore the number of channels, as NCCL's model does: it counts the {} of the "
      "search.\n"
      "The job has {}, which are {} of these{}; they carry at most {:.1f} GB/s together, of at most {:.1f} "
      "that the "
      "links allow any rings.\n",
      counted(use.searched, "ring channel"), counted(use.channels, "channel"), use.used,
      use.channels > use.used ? ", some several times" : "", use.bandwidth, use.bound);
}

}  // namespace xylem::cli
