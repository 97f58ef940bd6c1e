#include "insight/report/host_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/search/channel_legs.h"
#include "planner/topology/system_builder.h"
#include "insight/why/names.h"
#include "insight/why/room.h"
#include "insight/why/source.h"

namespace xylem {
namespace {

class HostDrawer {
 public:
  HostDrawer(const Plan& plan, int rank, const PictureOptions& options)
      : plan_(plan), rank_(rank), options_(options), host_(plan.hostOf(rank)) {
    whole_.description = host_.description;
    whole_.paths.system = buildSystem(*host_.description);
  }

  HostPicture draw() {
    picture_.title = title();
    picture_.rank = rank_;
    addNodes();
    addLinks();
    for (GraphKind kind : kAllGraphKinds)
      if (host_.graphs[kind].nChannels > 0) addGraph(kind);
    picture_.system = whole_.paths.system;
    picture_.reach = reachMatrix(plan_, rank_, picture_);
    return std::move(picture_);
  }

 private:
  const System& whole() const { return whole_.system(); }

  std::string title() const {
    const Job& job = plan_.job();
    std::vector<int> hosts;
    for (int host = 0; host < job.hosts(); ++host)
      for (int local = 0; local < job.shapeOf(host).ranks(); ++local)
        if (job.viewOf(job.rank(host, local)) == job.viewOf(rank_) && (hosts.empty() || hosts.back() != host))
          hosts.push_back(host);
    const bool apart = job.shapeOf(job.hostOf(rank_)).ranks() != host_.system().count(NodeType::kGpu);
    std::string text = hosts.size() == 1 ? fmt::format("host {}", hosts.front())
                                         : fmt::format("hosts {} to {}", hosts.front(), hosts.back());
    if (hosts.size() > 1 && hosts.back() - hosts.front() + 1 != static_cast<int>(hosts.size()))
      text = fmt::format("{} hosts from {} to {}", hosts.size(), hosts.front(), hosts.back());
    return text + topologyText(hosts.front()) + (apart ? fmt::format(", as rank {} sees them", rank_) : "");
  }

  // " of dgxh100.xml", where hosts have to be told apart.
  std::string topologyText(int host) const {
    if (plan_.groups.size() < 2) return "";
    for (const HostGroup& group : plan_.groups)
      if (host >= group.firstHost && host < group.firstHost + group.count)
        return " of " + group.topology.substr(group.topology.rfind('/') + 1);
    return "";
  }

  // The same node of the whole machine: the plan's graph is that without what the job does not use.
  void addNodes() {
    std::map<std::tuple<NodeType, std::uint64_t, ElementId>, NodeId> known;
    for (NodeId id = 0; id < whole().nodeCount(); ++id) {
      const Node& node = whole()[id];
      known[{node.type, node.key.value, node.element}] = id;
      PictureNode drawn;
      drawn.label = nodeName(plan_, rank_, whole(), id);
      drawn.source = sourceOf(whole_, id);
      drawn.used = false;
      if (options_.describe) drawn.detail = options_.describe(*host_.description, whole(), id);
      picture_.nodes.push_back(std::move(drawn));
    }
    for (NodeId id = 0; id < host_.system().nodeCount(); ++id) {
      const Node& node = host_.system()[id];
      const auto same = known.find({node.type, node.key.value, node.element});
      toWhole_.push_back(same == known.end() ? kNoNode : same->second);
      if (toWhole_.back() != kNoNode) picture_.nodes[static_cast<std::size_t>(toWhole_.back())].used = true;
    }
    // The plan leaves a NIC in place whose NETs it drops.
    for (NodeId nic : whole().nodes(NodeType::kNic)) {
      const auto links = whole().links(nic);
      picture_.nodes[static_cast<std::size_t>(nic)].used =
          std::any_of(links.begin(), links.end(), [&](const Link& link) {
            return link.type == LinkType::kNet && picture_.nodes[static_cast<std::size_t>(link.to)].used;
          });
    }
  }

  void addLinks() {
    for (LinkId id = 0; id < static_cast<LinkId>(whole().links().size()); ++id) {
      const Link& link = whole().link(id);
      const auto back = laneOf_.find({link.to, link.from, link.type});
      const auto same = laneOf_.find({link.from, link.to, link.type});
      if (same != laneOf_.end()) continue;
      LaneOfLink lane{static_cast<int>(picture_.links.size()), 0};
      if (back != laneOf_.end())
        lane = {back->second.link, 1};
      else
        picture_.links.push_back({link.from, link.to, link.type, {}, sourceOfLink(whole_, id)});
      laneOf_[{link.from, link.to, link.type}] = lane;
      picture_.links[static_cast<std::size_t>(lane.link)].bandwidth[static_cast<std::size_t>(lane.lane)] =
          link.bandwidth;
    }
  }

  LaneOfLink laneOf(LinkId id) const {
    const Link& link = host_.system().link(id);
    return laneOf_.at({toWhole_[static_cast<std::size_t>(link.from)],
                       toWhole_[static_cast<std::size_t>(link.to)], link.type});
  }

  void addGraph(GraphKind kind) {
    const ChannelGraph& graph = host_.graphs[kind];
    const Locality locality(host_.system(), host_.paths.paths);
    const SearchSpace space(host_.system(), host_.paths.paths, locality);
    const ChannelLoads loads(space, graph);
    PictureGraph drawn{.kind = kind,
                       .pattern = graph.pattern,
                       .bwIntra = graph.bwIntra,
                       .bwInter = graph.bwInter,
                       .typeIntra = graph.typeIntra,
                       .typeInter = graph.typeInter,
                       .fallback = graph.fallback,
                       .channels = {},
                       .used = std::vector<std::array<float, 2>>(picture_.links.size())};
    for (int channel = 0; channel < graph.nChannels; ++channel) {
      std::vector<PictureLeg>& legs = drawn.channels.emplace_back();
      for (const ChannelLeg& leg : legsOf(space, graph, channel)) {
        legs.push_back(drawLeg(space, leg, loads.of(leg.portion)));
        for (const auto& [lane, amount] : legs.back().takes)
          drawn.used[static_cast<std::size_t>(lane.link)][static_cast<std::size_t>(lane.lane)] += amount;
      }
    }
    addFull(drawn);
    picture_.graphs.push_back(std::move(drawn));
  }

  void addFull(PictureGraph& drawn) const {
    for (const RoomStop& stop : roomLeft(host_, drawn.kind).stops)
      for (const FullLink& full : stop.links)
        if (full.link != kNoLink) drawn.full.push_back({laneOf(full.link), full.free, full.wanted});
  }

  PictureLeg drawLeg(const SearchSpace& space, const ChannelLeg& leg, const Load& load) const {
    const PathTable& paths = host_.paths.paths;
    const Path& path = paths.path(leg.from, leg.to);
    PictureLeg drawn{.from = toWhole_[static_cast<std::size_t>(leg.from)],
                     .to = toWhole_[static_cast<std::size_t>(leg.to)],
                     .type = path.type,
                     .bandwidth = path.bandwidth,
                     .carries = load.amount(Share::kWhole),
                     .hops = {},
                     .takes = {}};
    for (LinkId link : paths.links(path)) drawn.hops.push_back(laneOf(link));
    for (const RouteStep& step : space.stepsOf(*leg.route))
      drawn.takes.emplace_back(laneOf(step.link), load.amount(step.share));
    return drawn;
  }

  const Plan& plan_;
  int rank_;
  const PictureOptions& options_;
  const HostPlan& host_;
  HostPlan whole_;
  HostPicture picture_;
  std::vector<NodeId> toWhole_;  // by node of the plan's graph
  std::map<std::tuple<NodeId, NodeId, LinkType>, LaneOfLink> laneOf_;
};

}  // namespace

HostPicture hostPicture(const Plan& plan, int rank, const PictureOptions& options) {
  return HostDrawer(plan, rank, options).draw();
}

}  // namespace xylem
