#include "insight/why/stops.h"

#include <fmt/format.h>

#include "insight/why/names.h"
#include "insight/why/room.h"
#include "insight/why/source.h"

namespace xylem {
namespace {

// So many links are named in a sentence, so many as inputs; and so many ways that have room.
constexpr std::size_t kMostInText = 2;
constexpr std::size_t kMostWays = 12;
constexpr std::size_t kMostInputs = 4;

std::string passageText(const Plan& plan, int rank, const RoomStop& stop) {
  std::string gpus;
  for (std::size_t i = 0; i < stop.nodes.size(); ++i) {
    if (i > kMostInText) {
      gpus += fmt::format(" and {} more", stop.nodes.size() - i);
      break;
    }
    gpus += (i == 0 ? "" : ", ") + nodeName(plan, rank, stop.nodes[i]);
  }
  const char* verb = stop.nodes.size() == 1 ? "reaches" : "reach";
  switch (stop.passage) {
    case Passage::kToGpus:
      return fmt::format("{} {} no other GPU any more", gpus, verb);
    case Passage::kFromGpus:
      return fmt::format("no other GPU reaches {} any more", gpus);
    case Passage::kFromNet:
      return "no channel can start from a NIC any more";
    case Passage::kToNet:
      return "no channel can end at a NIC any more";
  }
  return "";
}

void addLinks(const Plan& plan, int rank, const RoomStop& stop, AnswerStep& step) {
  const HostPlan& host = plan.hostOf(rank);
  for (std::size_t i = 0; i < stop.links.size(); ++i) {
    const FullLink& full = stop.links[i];
    const Link& link = host.system().link(full.link);
    const std::string ends =
        fmt::format("{} to {}", nodeName(plan, rank, link.from), nodeName(plan, rank, link.to));
    if (i == 0) step.text += fmt::format(": full is the {} link {}", name(link.type), ends);
    if (i > 0 && i < kMostInText) step.text += ", " + ends;
    if (i == kMostInText) step.text += fmt::format(" and {} more", stop.links.size() - i);
    step.sources.push_back(sourceOfLink(host, full.link));
    if (i < kMostInputs)
      step.inputs.push_back({fmt::format("{} ({})", ends, name(link.type)),
                             fmt::format("{} of {} left, {} wanted", bandwidthText(full.free),
                                         bandwidthText(link.bandwidth), bandwidthText(full.wanted))});
  }
  if (stop.links.size() > kMostInputs)
    step.inputs.push_back({"more full links", std::to_string(stop.links.size() - kMostInputs)});
}

AnswerStep stopStep(const Plan& plan, int rank, const RoomStop& stop, const ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "full-link";
  step.yes = false;
  step.text = passageText(plan, rank, stop);
  addLinks(plan, rank, stop, step);
  if (stop.tooFar)
    step.inputs.push_back({"all other ways are farther than",
                           stop.nodes.empty() ? typeText(graph.typeInter) : typeText(graph.typeIntra)});
  step.threshold = fmt::format("another channel of {}", bandwidthText(graph.bwIntra));
  return step;
}

AnswerStep orderStep(const Plan& plan, int rank, const RoomLeft& room, const ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "no-order";
  step.yes = false;
  switch (room.order) {
    case OrderLeft::kNone:
      step.text =
          "no single link stops another channel, but the ways that have room left make no channel "
          "through all GPUs";
      break;
    case OrderLeft::kPerhaps:
      step.text =
          "every GPU has a way on: another channel would take too much of links that ways share, or "
          "lies beyond the steps of the search";
      break;
    case OrderLeft::kTooMany:
      step.text = "every GPU has a way on, but the search found no order of all GPUs for another channel";
      break;
  }
  std::string ways;
  for (std::size_t i = 0; i < room.ways.size() && i < kMostWays; ++i)
    ways += fmt::format("{}{} to {}", i == 0 ? "" : ", ", nodeName(plan, rank, room.ways[i].first),
                        nodeName(plan, rank, room.ways[i].second));
  if (room.ways.size() > kMostWays) ways += fmt::format(" and {} more", room.ways.size() - kMostWays);
  step.inputs = {{"ways left", ways.empty() ? "none" : ways}};
  step.threshold = fmt::format("another channel of {}", bandwidthText(graph.bwIntra));
  return step;
}

AnswerStep mostStep(GraphKind kind, const ChannelGraph& graph) {
  AnswerStep step;
  step.rule = "most-channels";
  step.text = kind == GraphKind::kRing
                  ? fmt::format("a ring graph has at most {} channels", graph.maxChannels)
                  : fmt::format("the {} graph is asked for as many channels as the ring graph has: {}",
                                name(kind), graph.maxChannels);
  step.threshold = fmt::format("{} channels", graph.maxChannels);
  return step;
}

}  // namespace

std::vector<AnswerStep> whatStops(const Plan& plan, int rank, GraphKind kind) {
  const ChannelGraph& graph = plan.hostOf(rank).graphs[kind];
  const bool counted =
      kind == GraphKind::kRing || kind == GraphKind::kTree || kind == GraphKind::kCollnetChain;
  if (!counted || graph.nChannels == 0 || graph.fallback) return {};
  if (graph.nChannels >= graph.maxChannels) return {mostStep(kind, graph)};
  const RoomLeft room = roomLeft(plan.hostOf(rank), kind);
  std::vector<AnswerStep> steps;
  for (const RoomStop& stop : room.stops) steps.push_back(stopStep(plan, rank, stop, graph));
  if (steps.empty()) steps.push_back(orderStep(plan, rank, room, graph));
  return steps;
}

}  // namespace xylem
