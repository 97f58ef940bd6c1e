#include "cli/planner/plan_job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/number_list.h"
#include "cli/rank_rows.h"
#include "cli/table.h"
#include "planner/connect/double_tree.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/tuning/choice_ranges.h"

namespace xylem::cli {
namespace {

// Of nodes with children; the first ones stand nearest to the root.
constexpr std::size_t kMostParents = 8;

int rootOf(const DoubleTree& trees, int tree) {
  int node = 0;
  while (trees.place(tree, node).parent != kNoTreeNode) node = trees.place(tree, node).parent;
  return node;
}

// "0 > 4, 4 > 2 6, 2 > 1 3": level by level from the root.
std::string treeText(int nodes, int tree) {
  const DoubleTree trees(nodes);
  std::vector<int> queue = {rootOf(trees, tree)};
  std::string text;
  std::size_t parents = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const TreePlace place = trees.place(tree, queue[i]);
    std::string children;
    for (int child : {place.firstChild, place.secondChild}) {
      if (child == kNoTreeNode) continue;
      children += fmt::format(" {}", child);
      queue.push_back(child);
    }
    if (children.empty()) continue;
    if (++parents > kMostParents) return text + ", ...";
    text += fmt::format("{}{} >{}", text.empty() ? "" : ", ", queue[i], children);
  }
  return text;
}

// Ranges of sizes with the same algorithm and protocol.
struct Stretch {
  std::uint64_t first = 0, last = 0;
  Pick pick;
  int leastChannels = 0, mostChannels = 0;
};

std::vector<Stretch> stretchesOf(const TuningModel& model, Collective collective) {
  std::vector<Stretch> all;
  for (const ChoiceRange& range : choiceRanges(model, {.collective = collective})) {
    if (all.empty() || all.back().pick.algorithm != range.pick.algorithm ||
        all.back().pick.protocol != range.pick.protocol || all.back().pick.runs != range.pick.runs)
      all.push_back({range.first, range.last, range.pick, range.pick.channels, range.pick.channels});
    all.back().last = range.last;
    all.back().leastChannels = std::min(all.back().leastChannels, range.pick.channels);
    all.back().mostChannels = std::max(all.back().mostChannels, range.pick.channels);
  }
  return all;
}

std::string timesText(const TuningModel& model, Collective collective, const Stretch& stretch) {
  const auto at = [&](std::uint64_t bytes) {
    return predictedTime(model, {.collective = collective, .bytes = bytes}, stretch.pick.algorithm,
                         stretch.pick.protocol);
  };
  if (stretch.last >= kMostBytes) return fmt::format("from {:.1f}", at(stretch.first));
  return fmt::format("{:.1f} to {:.1f}", at(stretch.first), at(stretch.last));
}

}  // namespace

std::string ringsText(const Plan& plan, const Terminal& screen) {
  const Connections& c = plan.connections;
  Table table({{"channel", Align::kRight}, {"ranks"}});
  std::vector<std::vector<int>> rings;
  for (int searched = 0; searched < c.searched; ++searched) rings.push_back(searchedRing(c, searched));
  for (const auto& group : grouped(rings)) {
    std::vector<int> channels;
    for (int channel = 0; channel < c.nChannels(); ++channel)
      for (int searched : group.channels)
        if (c.source(0, channel).searched == searched) channels.push_back(channel);
    if (!channels.empty()) table.add({{listText(channels)}, {ranksText(group.line, c.nodes.ofRank, 1)}});
  }
  return screen.heading(c.nodes.count() > 1 ? "Rings of the job, | between nodes" : "Rings of the job") +
         table.text(screen, 2);
}

std::string treesText(const Plan& plan, const Terminal& screen) {
  const Connections& c = plan.connections;
  if (c.nodes.count() < 2) return "";
  std::array<std::vector<int>, 2> channels;
  for (int channel = 0; channel < c.nChannels(); ++channel)
    channels[static_cast<std::size_t>(c.source(0, channel).tree % 2)].push_back(channel);
  Table table({{"channel", Align::kRight}, {"nodes"}});
  for (int tree = 0; tree < 2; ++tree) {
    const std::vector<int>& of = channels[static_cast<std::size_t>(tree)];
    if (!of.empty()) table.add({{listText(of)}, {treeText(c.nodes.count(), tree)}});
  }
  return screen.heading(
             fmt::format("Trees of the job over its nodes, parent > children; {} hops deep", treeDepth(c))) +
         table.text(screen, 2);
}

std::string choicesText(const Plan& plan, const Terminal& screen) {
  if (plan.job().ranks() < 2) return "";
  const TuningModel& model = plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))];
  Table table({{"size"}, {"algorithm"}, {"protocol"}, {"channels", Align::kRight}, {"us", Align::kRight}});
  for (const Stretch& stretch : stretchesOf(model, Collective::kAllReduce)) {
    const std::string size = sizesText(stretch.first, stretch.last, kMostBytes);
    if (!stretch.pick.runs) {
      table.add({{size}, {"nothing can run it", Style::kRed}});
      continue;
    }
    table.add({{size},
               {name(stretch.pick.algorithm), Style::kGreen},
               {name(stretch.pick.protocol), Style::kGreen},
               {stretch.leastChannels == stretch.mostChannels
                    ? std::to_string(stretch.leastChannels)
                    : fmt::format("{}-{}", stretch.leastChannels, stretch.mostChannels)},
               {timesText(model, Collective::kAllReduce, stretch)}});
  }
  return screen.heading(plan.hostPlans.size() > 1
                            ? "AllReduce by size as rank 0 chooses, with the predicted time"
                            : "AllReduce by size, with the predicted time") +
         table.text(screen, 2);
}

}  // namespace xylem::cli
