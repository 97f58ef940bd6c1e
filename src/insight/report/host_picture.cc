#include "insight/report/host_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "insight/why/bandwidth_left.h"
#include "insight/why/names.h"
#include "insight/why/rules.h"
#include "planner/plan/host_parts.h"
#include "planner/search/channel_segments.h"
#include "planner/topology/system_builder.h"

namespace xylem::report {
namespace {

class Matrix {
 public:
  // Rules apply to the job's system, which lacks unused nodes; inPicture() finds its nodes in the picture by
  // key.
  Matrix(const plan::Plan& plan, int rank, const HostPicture& picture)
      : rules_(plan, rank), system_(rules_.system()), picture_(picture) {}

  ReachMatrix make() {
    ReachMatrix matrix;
    std::vector<topology::NodeId> rows, nets;
    for (topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu))
      if (static_cast<int>(rows.size()) < kMaxMatrixGpus) rows.push_back(gpu);
    if (system_.usesNets())
      for (topology::NodeId net : system_.nodes(topology::NodeType::kNet)) nets.push_back(net);
    matrix.gpusLeftOut = system_.count(topology::NodeType::kGpu) - static_cast<int>(rows.size());
    for (topology::NodeId gpu : rows) {
      for (topology::NodeId other : rows)
        matrix.cells.push_back(other == gpu ? ReachCell{} : betweenGpus(gpu, other));
      for (topology::NodeId net : nets) matrix.cells.push_back(toNet(gpu, net));
    }
    for (topology::NodeId gpu : rows) matrix.rows.push_back(inPicture(gpu));
    matrix.columns = matrix.rows;
    for (topology::NodeId net : nets) matrix.columns.push_back(inPicture(net));
    return matrix;
  }

 private:
  topology::NodeId inPicture(topology::NodeId node) const {
    for (topology::NodeId id : picture_.system.nodes(system_.type(node)))
      if (picture_.system[id].key == system_[node].key &&
          picture_.system[id].element == system_[node].element)
        return id;
    return topology::kNoNode;
  }

  // Returns the decision that the planner made, if it did: it may have changed the path, so deciding again
  // now could give another result.
  paths::Decision decided(paths::Rule rule, topology::NodeId a, topology::NodeId b,
                          const paths::Decision& now) const {
    const paths::Decision* made = rules_.made(rule, a, b);
    return made != nullptr ? *made : now;
  }

  ReachCell withPath(topology::NodeId a, topology::NodeId b) const {
    const paths::Path& path = rules_.paths().path(a, b);
    ReachCell cell;
    cell.type = path.type;
    cell.bandwidth = path.bandwidth;
    return cell;
  }

  ReachCell betweenGpus(topology::NodeId a, topology::NodeId b) const {
    ReachCell cell = withPath(a, b);
    const paths::Decision p2p = decided(paths::Rule::kP2p, a, b, rules_.reach().p2p(a, b));
    cell.reasons.push_back(rules_.step(p2p));
    cell.direct = rules_.reach().transportP2p(p2p).yes;
    cell.way = "P2P";
    if (cell.direct) return cell;
    const paths::Decision shm = rules_.reach().transportShm(a, b);
    cell.reasons.push_back(rules_.step(shm));
    cell.way = shm.yes ? "SHM" : "NET";
    if (!shm.yes) cell.reasons.push_back(rules_.step(rules_.reach().netIsBetter(a, b)));
    return cell;
  }

  ReachCell toNet(topology::NodeId gpu, topology::NodeId net) const {
    ReachCell cell = withPath(gpu, net);
    const paths::Decision in =
        decided(paths::Rule::kGdrReceive, gpu, net, rules_.reach().gdr(gpu, net, paths::Direction::kReceive));
    const paths::Decision out = rules_.reach().gdr(gpu, net, paths::Direction::kSend);
    cell.direct = in.yes && out.yes;
    cell.way = cell.direct ? "GDR" : in.yes ? "GDR in" : out.yes ? "GDR out" : "host";
    cell.reasons = {rules_.step(in), rules_.step(out)};
    if (const paths::Decision* pxn = rules_.made(paths::Rule::kPxn, gpu, net); pxn != nullptr && pxn->yes)
      cell.reasons.push_back(rules_.step(*pxn));
    return cell;
  }

  why::HostRules rules_;
  const topology::System& system_;
  const HostPicture& picture_;
};

// Returns how GPUs reach each other and the NETs of the same machine, with the rules that decide so.
ReachMatrix reachMatrix(const plan::Plan& plan, int rank, const HostPicture& picture) {
  return Matrix(plan, rank, picture).make();
}

class HostDrawer {
 public:
  HostDrawer(const plan::Plan& plan, int rank, const PictureOptions& options)
      : plan_(plan), rank_(rank), options_(options), host_(plan.hostOf(rank)) {
    whole_.description = host_.description;
    whole_.paths.system = topology::buildSystem(*host_.description, host_.system().sharedRules());
  }

  HostPicture draw() {
    picture_.title = title();
    picture_.rank = rank_;
    addNodes();
    addLinks();
    for (search::GraphKind kind : search::kAllGraphKinds)
      if (host_.graphs[kind].nChannels > 0) addGraph(kind);
    picture_.system = whole_.paths.system;
    picture_.reach = reachMatrix(plan_, rank_, picture_);
    return std::move(picture_);
  }

 private:
  const topology::System& whole() const { return whole_.system(); }

  std::string title() const {
    const connect::Job& job = plan_.job();
    std::vector<int> hosts;
    for (int host = 0; host < job.hosts(); ++host)
      for (int local = 0; local < job.shapeOf(host).ranks(); ++local)
        if (job.viewOf(job.rank(host, local)) == job.viewOf(rank_) && (hosts.empty() || hosts.back() != host))
          hosts.push_back(host);
    const bool apart =
        job.shapeOf(job.hostOf(rank_)).ranks() != host_.system().count(topology::NodeType::kGpu);
    std::string text = hosts.size() == 1 ? fmt::format("host {}", hosts.front())
                                         : fmt::format("hosts {} to {}", hosts.front(), hosts.back());
    if (hosts.size() > 1 && hosts.back() - hosts.front() + 1 != static_cast<int>(hosts.size()))
      text = fmt::format("{} hosts from {} to {}", hosts.size(), hosts.front(), hosts.back());
    return text + topologyText(hosts.front()) + (apart ? fmt::format(", as rank {} sees them", rank_) : "");
  }

  // " of dgxh100.xml" if the job has hosts of several topology files, otherwise empty.
  std::string topologyText(int host) const {
    if (plan_.groups.size() < 2) return "";
    for (const plan::HostGroup& group : plan_.groups)
      if (host >= group.firstHost && host < group.firstHost + group.count)
        return " of " + group.topology.substr(group.topology.rfind('/') + 1);
    return "";
  }

  // The picture shows the whole machine. The plan's system lacks the nodes that the job does not use; its
  // nodes are matched to those of the whole machine by type, key and element.
  void addNodes() {
    std::map<std::tuple<topology::NodeType, std::uint64_t, topology::ElementId>, topology::NodeId> known;
    for (topology::NodeId id = 0; id < whole().nodeCount(); ++id) {
      const topology::Node& node = whole()[id];
      known[{node.type, node.key.value, node.element}] = id;
      PictureNode drawn;
      drawn.label = why::nodeName(plan_, rank_, whole(), id);
      drawn.source = why::sourceOf(whole_, id);
      drawn.used = false;
      if (options_.describe) drawn.detail = options_.describe(*host_.description, whole(), id);
      picture_.nodes.push_back(std::move(drawn));
    }
    for (topology::NodeId id = 0; id < host_.system().nodeCount(); ++id) {
      const topology::Node& node = host_.system()[id];
      const auto same = known.find({node.type, node.key.value, node.element});
      toWhole_.push_back(same == known.end() ? topology::kNoNode : same->second);
      // By newer rules NETs stay in the graph of a job of one host, whose channels do not use them.
      const bool idle = node.type == topology::NodeType::kNet && !host_.system().usesNets();
      if (toWhole_.back() != topology::kNoNode && !idle)
        picture_.nodes[static_cast<std::size_t>(toWhole_.back())].used = true;
    }
    for (const int one : plan::ranksOfParts(plan_, rank_)) {
      const topology::System& part = plan_.hostOf(one).system();
      for (topology::NodeId id = 0; id < part.nodeCount(); ++id) {
        const auto same = known.find({part[id].type, part[id].key.value, part[id].element});
        if (same == known.end() || part[id].type == topology::NodeType::kNet) continue;
        PictureNode& drawn = picture_.nodes[static_cast<std::size_t>(same->second)];
        if (!drawn.used) drawn.used = drawn.elsewhere = true;
      }
    }
    // A NIC counts as used only if a NET of it is: the plan drops unused NETs, but keeps their NIC.
    for (topology::NodeId nic : whole().nodes(topology::NodeType::kNic)) {
      const auto links = whole().links(nic);
      picture_.nodes[static_cast<std::size_t>(nic)].used =
          std::any_of(links.begin(), links.end(), [&](const topology::Link& link) {
            return link.type == topology::LinkType::kNet &&
                   picture_.nodes[static_cast<std::size_t>(link.to)].used;
          });
    }
  }

  // Joins the two directed links between a pair of nodes into one link with two lanes.
  void addLinks() {
    for (topology::LinkId id = 0; id < static_cast<topology::LinkId>(whole().links().size()); ++id) {
      const topology::Link& link = whole().link(id);
      const auto back = laneOf_.find({link.to, link.from, link.type});
      const auto same = laneOf_.find({link.from, link.to, link.type});
      if (same != laneOf_.end()) continue;
      LaneOfLink lane{static_cast<int>(picture_.links.size()), 0};
      if (back != laneOf_.end())
        lane = {back->second.link, 1};
      else
        picture_.links.push_back({link.from, link.to, link.type, {}, why::sourceOfLink(whole_, id)});
      laneOf_[{link.from, link.to, link.type}] = lane;
      picture_.links[static_cast<std::size_t>(lane.link)].bandwidth[static_cast<std::size_t>(lane.lane)] =
          link.bandwidth;
    }
  }

  LaneOfLink laneOf(topology::LinkId id) const {
    const topology::Link& link = host_.system().link(id);
    return laneOf_.at({toWhole_[static_cast<std::size_t>(link.from)],
                       toWhole_[static_cast<std::size_t>(link.to)], link.type});
  }

  void addGraph(search::GraphKind kind) {
    const search::ChannelGraph& graph = host_.graphs[kind];
    const paths::Locality locality(host_.system(), host_.paths.paths);
    const search::SearchSpace space(host_.system(), host_.paths.paths, locality);
    const search::ChannelLoads loads(space, graph);
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
      for (const search::ChannelSegment& leg : search::segmentsOf(space, graph, channel)) {
        legs.push_back(drawLeg(space, leg, loads.of(leg.portion)));
        for (const auto& [lane, amount] : legs.back().takes)
          drawn.used[static_cast<std::size_t>(lane.link)][static_cast<std::size_t>(lane.lane)] += amount;
      }
    }
    addFull(drawn);
    picture_.graphs.push_back(std::move(drawn));
  }

  void addFull(PictureGraph& drawn) const {
    for (const why::ClosedPassage& stop : why::bandwidthLeft(host_, drawn.kind).stops)
      for (const why::FullLink& full : stop.links)
        if (full.link != topology::kNoLink) drawn.full.push_back({laneOf(full.link), full.free, full.wanted});
  }

  PictureLeg drawLeg(const search::SearchSpace& space, const search::ChannelSegment& leg,
                     const search::Load& load) const {
    const paths::PathTable& paths = host_.paths.paths;
    const paths::Path& path = paths.path(leg.from, leg.to);
    PictureLeg drawn{.from = toWhole_[static_cast<std::size_t>(leg.from)],
                     .to = toWhole_[static_cast<std::size_t>(leg.to)],
                     .type = path.type,
                     .bandwidth = path.bandwidth,
                     .carries = load.amount(search::Share::kWhole),
                     .hops = {},
                     .takes = {}};
    for (topology::LinkId link : paths.links(path)) drawn.hops.push_back(laneOf(link));
    for (const search::RouteStep& step : space.stepsOf(*leg.route))
      drawn.takes.emplace_back(laneOf(step.link), load.amount(step.share));
    return drawn;
  }

  const plan::Plan& plan_;
  int rank_;
  const PictureOptions& options_;
  const plan::HostPlan& host_;
  plan::HostPlan whole_;
  HostPicture picture_;
  std::vector<topology::NodeId> toWhole_;  // by node of the plan's system
  std::map<std::tuple<topology::NodeId, topology::NodeId, topology::LinkType>, LaneOfLink> laneOf_;
};

}  // namespace

HostPicture hostPicture(const plan::Plan& plan, int rank, const PictureOptions& options) {
  return HostDrawer(plan, rank, options).draw();
}

}  // namespace xylem::report
