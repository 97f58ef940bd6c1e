#include "insight/report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "insight/report/host_picture.h"
#include "insight/why/names.h"
#include "insight/why/why.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/choice_ranges.h"
#include "planner/tuning/model.h"

namespace xylem::report {
namespace {

std::string netText(const plan::Plan& plan, int rank, topology::NodeId net) {
  if (net == topology::kNoNode) return "";
  const topology::Net& device = plan.hostOf(rank).system().net(net);
  return device.name.empty() ? fmt::format("NET {}", device.dev)
                             : fmt::format("NET {} ({})", device.dev, device.name);
}

void addRings(const connect::Connections& c, PictureJob& job) {
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    std::vector<int> ranks = connect::ringOf(c, channel);
    const auto same = std::find_if(job.rings.begin(), job.rings.end(),
                                   [&](const PictureRing& ring) { return ring.ranks == ranks; });
    if (same == job.rings.end())
      job.rings.push_back({{channel}, std::move(ranks)});
    else
      same->channels.push_back(channel);
  }
}

// Shows the NICs of a ring's first channel; its other channels may use other NICs of the same GPUs.
void addCrossings(const plan::Plan& plan, PictureJob& job) {
  const connect::NetChoice choice(plan.connections, plan.reach);
  for (std::size_t i = 0; i < job.rings.size(); ++i) {
    const std::vector<int>& ranks = job.rings[i].ranks;
    const int channel = job.rings[i].channels.front();
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      const int from = ranks[at];
      const int to = ranks[(at + 1) % ranks.size()];
      if (job.nodeOfRank[static_cast<std::size_t>(from)] == job.nodeOfRank[static_cast<std::size_t>(to)])
        continue;
      const auto out = choice.ringEnd(from, channel, to, paths::Direction::kSend);
      const auto in = choice.ringEnd(to, channel, from, paths::Direction::kReceive);
      job.crossings.push_back({.ring = static_cast<int>(i),
                               .from = from,
                               .to = to,
                               .way = connect::name(choice.transport(from, to, paths::Direction::kSend)),
                               .fromNet = out ? netText(plan, from, out->net) : "",
                               .toNet = in ? netText(plan, to, in->net) : "",
                               .fromGdr = out && out->gdr,
                               .toGdr = in && in->gdr});
    }
  }
}

// Hops up to the root.
int depthOf(const std::vector<TreePlaceOfRank>& ranks, int rank) {
  int depth = 0;
  for (int up = ranks[static_cast<std::size_t>(rank)].up; up >= 0;
       up = ranks[static_cast<std::size_t>(up)].up)
    ++depth;
  return depth;
}

void addTrees(const connect::Connections& c, PictureJob& job) {
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    std::vector<TreePlaceOfRank> ranks;
    for (int rank = 0; rank < job.ranks; ++rank)
      ranks.push_back({rank, connect::treeOf(c, rank, channel).up, 0});
    for (TreePlaceOfRank& place : ranks) place.depth = depthOf(ranks, place.rank);
    const auto same = std::find_if(job.trees.begin(), job.trees.end(), [&](const PictureTree& tree) {
      return std::equal(tree.ranks.begin(), tree.ranks.end(), ranks.begin(),
                        [](const auto& a, const auto& b) { return a.up == b.up; });
    });
    if (same == job.trees.end())
      job.trees.push_back({{channel}, std::move(ranks)});
    else
      same->channels.push_back(channel);
  }
}

// Draws the rings and trees of a whole job, and the NICs that rings use between nodes.
PictureJob jobPicture(const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  PictureJob job;
  job.ranks = c.job.ranks();
  job.nodes = c.nodes.count();
  job.hosts = c.job.hosts();
  job.channels = c.nChannels();
  job.leftOut = job.ranks > kMaxJobRanks;
  if (job.leftOut) return job;
  job.nodeOfRank = c.nodes.ofRank;
  addRings(c, job);
  if (job.nodes > 1) addCrossings(plan, job);
  addTrees(c, job);
  return job;
}

constexpr int kFirstPower = 3, kLastPower = 33;

std::string nameOf(Algorithm algorithm, Protocol protocol) {
  return fmt::format("{}/{}", name(algorithm), name(protocol));
}

// Samples the curves at `sizes`. The stretches are exact, because choiceRanges() is.
class CurvesOf {
 public:
  CurvesOf(const tuning::TuningModel& model, Collective collective, std::span<const std::uint64_t> sizes)
      : model_(model), sizes_(sizes) {
    made_.collective = collective;
  }

  CollectiveCurves make() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const tuning::Choice choice =
          tuning::choose(model_, {.collective = made_.collective, .bytes = sizes_[i]});
      for (int k = 0; k < choice.usable; ++k) addPoint(choice.ranking[static_cast<std::size_t>(k)], i);
    }
    for (const tuning::ChoiceRange& range : tuning::choiceRanges(model_, {.collective = made_.collective}))
      addRange(range);
    addExcluded();
    return std::move(made_);
  }

 private:
  int curveOf(const std::string& name) {
    for (std::size_t i = 0; i < made_.curves.size(); ++i)
      if (made_.curves[i].name == name) return static_cast<int>(i);
    made_.curves.push_back({name, std::vector<CurvePoint>(sizes_.size())});
    return static_cast<int>(made_.curves.size()) - 1;
  }

  void addPoint(const tuning::Candidate& candidate, std::size_t size) {
    const int curve = curveOf(nameOf(candidate.algorithm, candidate.protocol));
    made_.curves[static_cast<std::size_t>(curve)].points[size] = {
        candidate.time, static_cast<float>(tuning::busBandwidth(made_.collective, model_.input.ranks,
                                                                sizes_[size], candidate.time))};
  }

  void addRange(const tuning::ChoiceRange& range) {
    const tuning::Pick& pick = range.pick;
    const int curve = pick.runs ? curveOf(nameOf(pick.algorithm, pick.protocol)) : -1;
    // The model has no time for a rank alone, which only copies.
    const bool hasTime = pick.runs && model_.input.ranks > 1;
    const auto at = [&](std::uint64_t bytes) {
      return hasTime ? tuning::predictedTime(model_, {.collective = made_.collective, .bytes = bytes},
                                             pick.algorithm, pick.protocol)
                     : 0.0f;
    };
    if (made_.stretches.empty() || made_.stretches.back().curve != curve)
      made_.stretches.push_back(
          {range.first, range.last, curve, pick.channels, pick.channels, at(range.first), 0});
    CurveStretch& stretch = made_.stretches.back();
    stretch.last = range.last;
    stretch.lastTime = at(range.last);
    stretch.leastChannels = std::min(stretch.leastChannels, pick.channels);
    stretch.mostChannels = std::max(stretch.mostChannels, pick.channels);
  }

  // Lists what this job or its settings exclude, but not what is impossible in every job.
  void addExcluded() {
    const tuning::Choice choice = tuning::choose(model_, {.collective = made_.collective, .bytes = 1});
    for (const tuning::Candidate& candidate : choice.ranking) {
      if (candidate.excluded == tuning::Exclusion::kNone ||
          candidate.excluded == tuning::Exclusion::kOneRank ||
          candidate.excluded == tuning::Exclusion::kNotOffered ||
          candidate.excluded == tuning::Exclusion::kSimpleOnly)
        continue;
      std::string reason = tuning::explain(candidate, choice.operation, model_);
      if (std::find(made_.excluded.begin(), made_.excluded.end(), reason) == made_.excluded.end())
        made_.excluded.push_back(std::move(reason));
    }
  }

  const tuning::TuningModel& model_;
  std::span<const std::uint64_t> sizes_;
  CollectiveCurves made_;
};

// Returns sizes from 8 bytes to 8 GiB, two per power of two.
std::vector<std::uint64_t> curveSizes() {
  std::vector<std::uint64_t> sizes;
  for (int power = kFirstPower; power <= kLastPower; ++power) {
    const std::uint64_t size = std::uint64_t{1} << power;
    sizes.push_back(size);
    if (power < kLastPower) sizes.push_back(size + size / 2);
  }
  return sizes;
}

// The time of each algorithm and protocol over sizes, and the sizes at which the choice changes.
std::vector<CollectiveCurves> tuningCurves(const tuning::TuningModel& model,
                                           std::span<const std::uint64_t> sizes) {
  std::vector<CollectiveCurves> all;
  for (Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kBroadcast, Collective::kReduce})
    all.push_back(CurvesOf(model, collective, sizes).make());
  return all;
}

// The page asks about the NICs of at most this many GPUs.
constexpr int kMaxGpusAsked = 8;

std::string counted(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string summaryOf(const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  std::string text = fmt::format("{} on {}", counted(c.job.ranks(), "rank"), counted(c.job.hosts(), "host"));
  if (c.nodes.count() != c.job.hosts())
    text += fmt::format(" ({} for NCCL)", counted(c.nodes.count(), "node"));
  return text + ", " + counted(c.nChannels(), "channel");
}

// The questions whose answers the page shows, each leading to the next.
std::vector<std::vector<std::string>> questionsTo(const plan::Plan& plan) {
  std::vector<std::vector<std::string>> questions = {{"count"}, {"channels", "ring"}, {"channels", "tree"}};
  const plan::HostPlan& host = plan.hostOf(0);
  if (host.graphs[search::GraphKind::kCollnetChain].nChannels > 0) questions.push_back({"channels", "chain"});
  if (host.graphs[search::GraphKind::kCollnetDirect].nChannels > 0)
    questions.push_back({"channels", "direct"});
  if (host.graphs[search::GraphKind::kNvls].nChannels > 0) questions.push_back({"channels", "nvls"});
  for (const char* size : {"8", "64K", "1M", "64M", "1G"}) questions.push_back({"algo", "all_reduce", size});
  if (host.system().usesNets())
    for (int local = 0; local < std::min(plan.job().shapeOf(0).ranks(), kMaxGpusAsked); ++local)
      questions.push_back({"nic", fmt::format("gpu{}", plan.job().rank(0, local))});
  questions.push_back({"rank", "0"});
  return questions;
}

}  // namespace

Picture drawPicture(const why::Inquiry& inquiry, const PictureOptions& options) {
  const plan::Plan& plan = inquiry.plan();
  Picture picture;
  picture.title = options.title;
  picture.summary = summaryOf(plan);
  picture.settings = plan.settings;
  picture.optimality = options.optimality;
  picture.upgrade = options.upgrade;
  picture.origin = options.origin;
  for (int view = 0; view < static_cast<int>(plan.job().views.size()); ++view)
    for (int rank = 0; rank < plan.job().ranks(); ++rank) {
      if (plan.job().viewOf(rank) != view) continue;
      picture.hosts.push_back(hostPicture(plan, rank, options));
      break;
    }
  picture.job = jobPicture(plan);
  picture.sizes = curveSizes();
  picture.tuning = tuningCurves(plan.tuning[static_cast<std::size_t>(plan.job().viewOf(0))], picture.sizes);
  if (!options.answers) return picture;
  for (const auto& question : questionsTo(plan)) picture.answers.push_back(inquiry.ask(question));
  return picture;
}

}  // namespace xylem::report
