#include "insight/fabric/host_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "insight/fabric/locality.h"

namespace xylem {
namespace {

// What two sums of the same numbers differ by at most.
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
    result_.sites = std::make_unique<Sites>(request_.fabric, network(), request_.hosts, job_, now.traffic);
    quiet_ = quietTimes(now.traffic, sites(), now.order);
    now.score = scoreOfOrder(now);
    kinds_ = kindsOfSites(sites(), network(), job_, now.traffic);
    result_.proposed = now;
    search();
    return std::move(result_);
  }

 private:
  FabricGraph& network() { return *result_.network; }
  const Sites& sites() const { return *result_.sites; }
  int shapeOf(int site) const { return job_.shapeOfHost[static_cast<std::size_t>(site)]; }

  Score scoreOfOrder(const OrderedHosts& hosts) {
    return scoreOf(Congestion(hosts.traffic, sites(), network(), hosts.order), network(), quiet_);
  }

  void search() {
    const OrderedHosts given = result_.now;
    const std::vector<int> local = orderByLocality(sites(), network(), kinds_, given.traffic);
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
    // Where hosts differ, another order of the kinds has other rings and trees.
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
    return HostOrderSearch(traffic, sites(), network(), quiet_, kinds_,
                           {now[kRingTraffic].time, now[kTreeTraffic].time}, request_.limits);
  }

  std::vector<int> improved(HostOrderSearch& search, const std::vector<int>& order) const {
    return search.improve(order, [this](int a, int b) { return shapeOf(a) == shapeOf(b); });
  }

  // The sites of `wanted` one after the other, in an order whose shapes are those of `order`.
  std::vector<int> withShapesOf(const std::vector<int>& order, const std::vector<int>& wanted) const {
    std::vector<std::size_t> next(job_.shapes.size(), 0);
    std::vector<int> result;
    for (int site : order) {
      std::size_t& at = next[static_cast<std::size_t>(shapeOf(site))];
      while (shapeOf(wanted[at]) != shapeOf(site)) ++at;
      result.push_back(wanted[at++]);
    }
    return result;
  }

  Connections connectionsOf(const std::vector<int>& order) const {
    Job job = job_;
    for (std::size_t place = 0; place < order.size(); ++place) job.shapeOfHost[place] = shapeOf(order[place]);
    if (request_.placement == Placement::kBlocks)
      job.placeInBlocks();
    else
      job.placeRoundRobin();
    return connect(std::move(job), request_.plan.connections.options);
  }

  // Replaces the proposed order by a better one.
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
  const Job& job_;
  HostOrder result_;
  QuietTimes quiet_ = {};
  std::vector<int> kinds_;
  bool hasBest_ = false;
  OrderCost best_;
};

}  // namespace

HostOrder orderHosts(const HostOrderRequest& request) { return Orderer(request).run(); }

}  // namespace xylem
