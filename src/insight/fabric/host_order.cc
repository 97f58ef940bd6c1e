#include "insight/fabric/host_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace xylem::fabric {
namespace {

// Distance between switches without a path.
constexpr long long kFar = 1 << 20;

// Returns by NIC the node of its switch; -1 for NICs that the host does not have.
std::vector<int> leavesOf(const Attachments& attachments, const FabricGraph& network, int host,
                          std::size_t nics) {
  std::vector<int> leaves(nics, -1);
  for (std::size_t nic = 0; nic < nics; ++nic)
    if (const auto& ports = attachments.ports(host, static_cast<int>(nic)); !ports.empty())
      leaves[nic] = network.leaf(ports.front());
  return leaves;
}

// Sum of the hops between the NICs of two hosts, pairwise. Hosts of different shapes have different NICs: the
// first one of each is compared, then the second one, and so on.
long long distance(const std::vector<int>& a, const std::vector<int>& b, FabricGraph& network) {
  long long sum = 0;
  for (std::size_t i = 0, j = 0;; ++i, ++j) {
    while (i < a.size() && a[i] < 0) ++i;
    while (j < b.size() && b[j] < 0) ++j;
    if (i >= a.size() || j >= b.size()) return sum;
    const int hops = network.distance(a[i], b[j]);
    sum += hops < 0 ? kFar : hops;
  }
}

// Returns the kind of each host. Hosts of one kind have the same shape and are plugged into the same switches
// at the same speeds, so swapping them has no effect. Kinds are numbered in the order of their first hosts.
std::vector<int> kindsOfHosts(const Attachments& attachments, const FabricGraph& network,
                              const connect::Job& job, const Traffic& traffic) {
  using Key = std::vector<std::tuple<int, int, double>>;  // NIC, switch, GB/s
  std::map<std::pair<int, Key>, int> known;
  std::vector<int> kinds;
  for (int host = 0; host < attachments.count(); ++host) {
    Key key;
    for (int nic = 0; nic < static_cast<int>(traffic.nics.size()); ++nic)
      for (int port : attachments.ports(host, nic))
        key.emplace_back(nic, network.leaf(port), network.link(network.outOf(port)).bandwidth);
    const int shape = job.shapeOfHost[static_cast<std::size_t>(host)];
    kinds.push_back(known.try_emplace({shape, std::move(key)}, static_cast<int>(known.size())).first->second);
  }
  return kinds;
}

// Returns an order that keeps the hosts of each kind together and continues with the nearest remaining kind:
// leaf by leaf, pod by pod. Greedy: it never reconsiders a choice.
std::vector<int> orderByLocality(const Attachments& attachments, FabricGraph& network,
                                 const std::vector<int>& kindOf, const Traffic& traffic) {
  std::vector<std::vector<int>> members;
  std::vector<std::vector<int>> leaves;
  for (int host = 0; host < attachments.count(); ++host) {
    const auto kind = static_cast<std::size_t>(kindOf[static_cast<std::size_t>(host)]);
    if (kind == members.size()) {
      members.emplace_back();
      leaves.push_back(leavesOf(attachments, network, host, traffic.nics.size()));
    }
    members[kind].push_back(host);
  }
  std::vector<int> order;
  std::vector<bool> done(members.size(), false);
  for (std::size_t here = 0, left = members.size(); left > 0; --left) {
    done[here] = true;
    order.insert(order.end(), members[here].begin(), members[here].end());
    std::size_t nearest = here;
    long long least = std::numeric_limits<long long>::max();
    for (std::size_t other = 0; other < members.size(); ++other) {
      if (done[other]) continue;
      const long long far = distance(leaves[here], leaves[other], network);
      if (far < least) {
        least = far;
        nearest = other;
      }
    }
    here = nearest;
  }
  return order;
}

// Factor by which sums of the same numbers may differ through rounding.
constexpr double kRounding = 1 + 1e-9;

class Orderer {
 public:
  explicit Orderer(const HostOrderRequest& request) : request_(request), job_(request.plan.job()) {}

  HostOrder run() && {
    if (job_.hosts() < 2)
      throw Error(ResultCode::kInvalidArgument, "a job of one host has no order: at least 2 are needed");
    OrderedHosts& now = result_.now;
    now.order.resize(static_cast<std::size_t>(job_.hosts()));
    std::iota(now.order.begin(), now.order.end(), 0);
    now.traffic = trafficOf(request_.plan.connections, request_.plan.reach);
    result_.network = std::make_unique<FabricGraph>(request_.fabric);
    result_.attachments =
        std::make_unique<Attachments>(request_.fabric, network(), request_.hosts, job_, now.traffic);
    quiet_ = quietTimes(now.traffic, attachments(), now.order);
    now.score = scoreOfOrder(now);
    kinds_ = kindsOfHosts(attachments(), network(), job_, now.traffic);
    result_.proposed = now;
    search();
    return std::move(result_);
  }

 private:
  FabricGraph& network() { return *result_.network; }
  const Attachments& attachments() const { return *result_.attachments; }
  int shapeOf(int host) const { return job_.shapeOfHost[static_cast<std::size_t>(host)]; }

  Score scoreOfOrder(const OrderedHosts& hosts) {
    return scoreOf(Congestion(hosts.traffic, attachments(), network(), hosts.order), network(), quiet_);
  }

  // A job of equal hosts has the same rings and trees in every order, so orders differ only in where the
  // flows run: the search tries all orders if they are few, and otherwise improves two of them by swaps, the
  // given one and one that keeps neighbours of the fabric together. With several shapes of hosts, swaps keep
  // the shape at each place; a third start reorders the shapes, too, and plans the job again.
  void search() {
    const OrderedHosts given = result_.now;
    const std::vector<int> local = orderByLocality(attachments(), network(), kinds_, given.traffic);
    const bool oneShape = std::all_of(job_.shapeOfHost.begin(), job_.shapeOfHost.end(),
                                      [&](int shape) { return shape == job_.shapeOfHost.front(); });
    HostOrderSearch search = searchWith(given.traffic);
    if (oneShape && search.isSmall()) {
      result_.allTried = true;
      take(given.traffic, search.tryAll(given.order), search);
    } else {
      take(given.traffic, improved(search, given.order), search);
      take(given.traffic, improved(search, withShapesOf(given.order, local)), search);
    }
    result_.tried += search.tried();
    // Reordering hosts of different shapes changes the job's rings and trees.
    if (!oneShape && !request_.placedByHand) tryShapes(local);
  }

  void tryShapes(const std::vector<int>& order) {
    const Traffic traffic = trafficOf(connectionsOf(order), request_.plan.reach);
    HostOrderSearch search = searchWith(traffic);
    take(traffic, improved(search, order), search);
    result_.tried += search.tried();
  }

  HostOrderSearch searchWith(const Traffic& traffic) {
    const Score& now = result_.now.score;
    return HostOrderSearch(traffic, attachments(), network(), quiet_, kinds_,
                           {now[kRingTraffic].time, now[kTreeTraffic].time}, request_.limits);
  }

  std::vector<int> improved(HostOrderSearch& search, const std::vector<int>& order) const {
    return search.improve(order, [this](int a, int b) { return shapeOf(a) == shapeOf(b); });
  }

  // Returns the hosts of `wanted`, kept in sequence per shape, with the shapes at the same places as in
  // `order`.
  std::vector<int> withShapesOf(const std::vector<int>& order, const std::vector<int>& wanted) const {
    std::vector<std::size_t> next(job_.shapes.size(), 0);
    std::vector<int> result;
    for (int host : order) {
      std::size_t& at = next[static_cast<std::size_t>(shapeOf(host))];
      while (shapeOf(wanted[at]) != shapeOf(host)) ++at;
      result.push_back(wanted[at++]);
    }
    return result;
  }

  connect::Connections connectionsOf(const std::vector<int>& order) const {
    connect::Job job = job_;
    for (std::size_t place = 0; place < order.size(); ++place) job.shapeOfHost[place] = shapeOf(order[place]);
    if (request_.placement == plan::Placement::kBlocks)
      job.placeInBlocks();
    else
      job.placeRoundRobin();
    return connect::connect(std::move(job), request_.plan.connections.options);
  }

  // Makes `order` the proposed one if it is better, and slower than the given order over neither kind of
  // graph.
  void take(const Traffic& traffic, const std::vector<int>& order, HostOrderSearch& search) {
    OrderedHosts found{order, traffic, {}};
    found.score = scoreOfOrder(found);
    for (std::size_t kind = 0; kind < kTrafficKinds; ++kind)
      if (found.score[kind].slowdown > result_.now.score[kind].slowdown * kRounding) return;
    const OrderCost cost = search.cost(order);
    if (!hasBest_) best_ = searchWith(result_.now.traffic).cost(result_.now.order);
    hasBest_ = true;
    if (!(cost < best_)) return;
    best_ = cost;
    result_.proposed = std::move(found);
  }

  const HostOrderRequest& request_;
  const connect::Job& job_;
  HostOrder result_;
  QuietTimes quiet_ = {};
  std::vector<int> kinds_;
  bool hasBest_ = false;
  OrderCost best_;
};

}  // namespace

HostOrder orderHosts(const HostOrderRequest& request) { return Orderer(request).run(); }

}  // namespace xylem::fabric
