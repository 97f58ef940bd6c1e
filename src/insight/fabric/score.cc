#include "insight/fabric/score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace xylem::fabric {
namespace {

// A sort key: values that differ only by rounding get the same key, so a stable sort keeps their order.
long long rounded(double value, double most) {
  return most > 0 ? std::llround(value / most / kSameScore) : 0;
}

double leastOf(std::initializer_list<double> speeds) {
  double least = 0;
  for (double speed : speeds)
    if (speed > 0 && (least == 0 || speed < least)) least = speed;
  return least;
}

struct CableLoad {
  double bytes = 0;
  std::int64_t cables = 0;
};

// Returns the load that this share of all cables does not exceed.
double quantile(const std::vector<CableLoad>& ascending, std::int64_t cables, double share) {
  const auto wanted = static_cast<std::int64_t>(share * static_cast<double>(cables - 1));
  std::int64_t seen = 0;
  for (const CableLoad& load : ascending) {
    seen += load.cables;
    if (seen > wanted) return load.bytes;
  }
  return 0;
}

TrafficScore scoreOf(const Congestion& congestion, const FabricGraph& network, int kind, double quiet) {
  TrafficScore score;
  score.quiet = score.time = quiet;
  double longest = 0;
  std::vector<CableLoad> loads;
  for (int link = 0; link < network.links(); ++link) {
    const double time = congestion.time(kind, link);
    score.time = std::max(score.time, time);
    if (link < network.firstInner()) continue;
    if (score.worst < 0 || time > longest * (1 + kSameScore)) {
      score.worst = link;
      longest = time;
    }
    const std::int64_t cables = network.link(link).cables;
    const double bytes = congestion.bytes(kind, link);
    loads.push_back({std::max(bytes, 0.0) / static_cast<double>(cables), cables});
    score.all += bytes;
    score.cables += cables;
    if (time > quiet * (1 + kSameScore)) score.slowing += cables;
  }
  score.slowdown = quiet > 0 ? score.time / quiet : 1;
  if (score.slowdown < 1 + kSameScore) score.slowdown = 1;
  std::sort(loads.begin(), loads.end(),
            [](const CableLoad& a, const CableLoad& b) { return a.bytes < b.bytes; });
  score.most = quantile(loads, score.cables, 1);
  score.ninetieth = quantile(loads, score.cables, 0.9);
  score.median = quantile(loads, score.cables, 0.5);
  return score;
}

}  // namespace

QuietTimes quietTimes(const Traffic& traffic, const Attachments& attachments, const std::vector<int>& order) {
  QuietTimes times = {};
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    // Bytes per NIC and direction, at index 2 * (place * NICs + NIC) + direction.
    std::vector<double> bytes(2 * order.size() * traffic.nics.size(), 0.0);
    const auto at = [&](int place, int nic, std::size_t direction) -> double& {
      return bytes[2 * (static_cast<std::size_t>(place) * traffic.nics.size() +
                        static_cast<std::size_t>(nic)) +
                   direction];
    };
    for (const Flow& flow : traffic.flows[kind]) {
      at(flow.from, flow.fromNic, 0) += flow.bytes;
      at(flow.to, flow.toNic, 1) += flow.bytes;
    }
    for (std::size_t place = 0; place < order.size(); ++place)
      for (std::size_t n = 0; n < traffic.nics.size(); ++n) {
        const TrafficNic& nic = traffic.nics[n];
        const double speed = leastOf(
            {attachments.bandwidth(order[place], static_cast<int>(n)), nic.bandwidth, nic.planned[kind]});
        for (std::size_t direction = 0; direction < 2; ++direction) {
          const double load = at(static_cast<int>(place), static_cast<int>(n), direction);
          if (load > 0 && speed > 0) times[kind] = std::max(times[kind], load / speed);
        }
      }
  }
  return times;
}

Score scoreOf(const Congestion& congestion, const FabricGraph& network, const QuietTimes& quiet) {
  Score score;
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind)
    score[kind] = scoreOf(congestion, network, static_cast<int>(kind), quiet[kind]);
  return score;
}

std::vector<int> busiestLinks(const Congestion& congestion, const FabricGraph& network, int kind) {
  std::vector<int> links(static_cast<std::size_t>(network.links() - network.firstInner()));
  std::iota(links.begin(), links.end(), network.firstInner());
  double longest = 0;
  for (int link : links) longest = std::max(longest, congestion.time(kind, link));
  std::stable_sort(links.begin(), links.end(), [&](int a, int b) {
    return rounded(congestion.time(kind, a), longest) > rounded(congestion.time(kind, b), longest);
  });
  return links;
}

std::vector<std::vector<Crossing>> crossings(const Traffic& traffic, int kind, const std::vector<int>& order,
                                             const Attachments& attachments, FabricGraph& network,
                                             const std::vector<int>& links) {
  std::unordered_map<int, std::size_t> wanted;
  for (std::size_t i = 0; i < links.size(); ++i) wanted[links[i]] = i;
  std::vector<std::map<std::pair<int, int>, Crossing>> found(links.size());
  for (const Flow& flow : traffic.flows[static_cast<std::size_t>(kind)])
    eachLinkOf(flow, order, attachments, network, [&](int link, double part) {
      const auto at = wanted.find(link);
      if (at == wanted.end()) return;
      Crossing& crossing = found[at->second][{flow.from, flow.to}];
      crossing.from = flow.from;
      crossing.to = flow.to;
      crossing.bytes += part * flow.bytes;
      crossing.channels |= flow.channels;
      crossing.fromNics.insert(flow.fromNic);
      crossing.toNics.insert(flow.toNic);
    });
  std::vector<std::vector<Crossing>> all(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (auto& [ends, crossing] : found[i]) all[i].push_back(std::move(crossing));
    double most = 0;
    for (const Crossing& crossing : all[i]) most = std::max(most, crossing.bytes);
    std::stable_sort(all[i].begin(), all[i].end(), [&](const Crossing& a, const Crossing& b) {
      return rounded(a.bytes, most) > rounded(b.bytes, most);
    });
  }
  return all;
}

}  // namespace xylem::fabric
