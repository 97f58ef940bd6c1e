#include "insight/preflight/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/number_ranges.h"
#include "insight/preflight/networks.h"

namespace xylem::preflight {
namespace {

// "90", or "80-90" if a host has several compute capabilities.
std::string gpusOf(const topology::System& system) {
  std::set<int> sms;
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) sms.insert(system.gpu(gpu).sm);
  if (sms.size() < 2) return sms.empty() ? "none" : std::to_string(*sms.begin());
  return fmt::format("{}-{}", *sms.begin(), *sms.rbegin());
}

std::string cpuText(const topology::Cpu& cpu) {
  if (cpu.arch != topology::CpuArch::kX86) return topology::name(cpu.arch);
  switch (cpu.vendor) {
    case topology::CpuVendor::kIntel:
      return "Intel";
    case topology::CpuVendor::kAmd:
      return "AMD";
    case topology::CpuVendor::kZhaoxin:
      return "Zhaoxin";
    default:
      return "x86";
  }
}

std::string channelsText(int channels, float bandwidth) {
  return channels == 0 ? "none" : fmt::format("{} x {:.1f} GB/s", channels, bandwidth);
}

// The bandwidth between nodes if there are several, otherwise inside the node.
float bandwidthOf(const plan::Plan& plan, float intra, float inter) {
  return plan.connections.nodes.count() > 1 ? inter : intra;
}

std::string graphText(const plan::Plan& plan, const plan::HostPlan& host, search::GraphKind kind) {
  const search::ChannelGraph& graph = host.graphs[kind];
  return channelsText(graph.nChannels, bandwidthOf(plan, graph.bwIntra, graph.bwInter));
}

std::string mergedText(const plan::Plan& plan, search::GraphKind kind) {
  const connect::MergedGraph& graph = plan.connections.merged[kind];
  return channelsText(graph.nChannels, bandwidthOf(plan, graph.bwIntra, graph.bwInter));
}

// "NVL, PXB": between GPUs, and from GPUs to NICs in jobs of several nodes.
std::string pathsText(const plan::Plan& plan, int channels, paths::PathType intra, paths::PathType inter) {
  if (channels == 0) return "none";
  return plan.connections.nodes.count() > 1 ? fmt::format("{}, {}", paths::name(intra), paths::name(inter))
                                            : std::string(paths::name(intra));
}

std::string graphPaths(const plan::Plan& plan, const plan::HostPlan& host, search::GraphKind kind) {
  const search::ChannelGraph& graph = host.graphs[kind];
  return pathsText(plan, graph.nChannels, graph.typeIntra, graph.typeInter);
}

std::string mergedPaths(const plan::Plan& plan, search::GraphKind kind) {
  const connect::MergedGraph& graph = plan.connections.merged[kind];
  return pathsText(plan, graph.nChannels, graph.typeIntra, graph.typeInter);
}

// "4, 2 channels each", "4, 1 to 2 channels each, crossing": the NICs at which channels start; crossing if some
// channel ends at another NIC than it starts.
std::string nicsOfRings(const search::ChannelGraph& ring) {
  std::map<int, int> channels;
  bool crossing = false;
  for (int channel = 0; channel < ring.nChannels; ++channel) {
    if (ring.startNet(channel) < 0) continue;
    ++channels[ring.startNet(channel)];
    crossing = crossing || ring.startNet(channel) != ring.endNet(channel);
  }
  if (channels.empty()) return "none";
  const auto [least, most] = std::minmax_element(
      channels.begin(), channels.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string range = least->second == most->second
                                ? std::to_string(least->second)
                                : fmt::format("{} to {}", least->second, most->second);
  return fmt::format("{}, {} channel{} each{}", channels.size(), range, range == "1" ? "" : "s",
                     crossing ? ", crossing" : "");
}

// "8 x 50.0 GB/s, InfiniBand"; NICs that are not alike one after the other.
std::string nicsOf(const plan::HostPlan& host) {
  std::map<std::string, int> kinds;
  for (const topology::NodeId nic : host.system().nodes(topology::NodeType::kNet)) {
    const Network network = networkOf(host, nic);
    const std::string way = network == Network::kUnknown ? "" : fmt::format(", {}", name(network));
    ++kinds[fmt::format("{:.1f} GB/s{}", host.system().net(nic).bandwidth, way)];
  }
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += fmt::format("{}{} x {}", text.empty() ? "" : " and ", count, kind);
  return text.empty() ? "none" : text;
}

// Whether NICs of InfiniBand and of Ethernet are among those of the hosts.
bool mixNetworks(const plan::Plan& plan) {
  const auto has = [&](Network network) {
    return std::any_of(plan.hostPlans.begin(), plan.hostPlans.end(), [&](const auto& host) {
      const auto& nics = host->system().nodes(topology::NodeType::kNet);
      return std::any_of(nics.begin(), nics.end(),
                         [&](topology::NodeId nic) { return networkOf(*host, nic) == network; });
    });
  };
  return has(Network::kInfiniBand) && has(Network::kEthernet);
}

// "0 1 2 3, twice": the numbers of the NICs at which the rings leave, channel by channel; "0>1" where a ring comes back by
// another one.
std::string nicOfChannels(const plan::HostPlan& host) {
  const search::ChannelGraph& ring = host.graphs[search::GraphKind::kRing];
  const auto number = [&](int nic) {
    return host.system().net(host.system().node(topology::NodeType::kNet, nic)).dev;
  };
  std::vector<std::string> nics;
  for (int channel = 0; channel < ring.nChannels; ++channel) {
    if (ring.startNet(channel) < 0) return "none";
    const int start = number(ring.startNet(channel)), end = number(ring.endNet(channel));
    nics.push_back(start == end ? std::to_string(start) : fmt::format("{}>{}", start, end));
  }
  const auto half = static_cast<std::ptrdiff_t>(nics.size() / 2);
  if (nics.empty() || nics.size() % 2 != 0 ||
      !std::equal(nics.begin(), nics.begin() + half, nics.begin() + half))
    return fmt::format("{}", fmt::join(nics, " "));
  return fmt::format("{}, twice", fmt::join(nics.begin(), nics.begin() + half, " "));
}

class Remarks {
 public:
  explicit Remarks(const plan::Plan& plan) : plan_(plan) {}

  // Adds a remark if the kinds of hosts differ.
  void add(Remarked what, const std::function<std::string(const plan::HostPlan&)>& of, const std::string& job,
           bool apart = false) {
    Remark remark{what, {}, job, apart};
    for (const auto& host : plan_.hostPlans) remark.byView.push_back(of(*host));
    if (std::any_of(remark.byView.begin(), remark.byView.end(),
                    [&](const std::string& text) { return text != remark.byView.front(); }))
      all.push_back(std::move(remark));
  }

  std::vector<Remark> all;

 private:
  const plan::Plan& plan_;
};

std::string jobCpu(const plan::Plan& plan) {
  const tuning::TuningInput& input = plan.tuning.front().input;
  return input.arch == topology::CpuArch::kMixed || input.vendor == topology::CpuVendor::kMixed ? "mixed"
                                                                                                : "";
}

bool hasLl128(const plan::Plan& plan) {
  const auto& ring = plan.tuning.front().excluded[Collective::kAllReduce][Algorithm::kRing];
  const auto& tree = plan.tuning.front().excluded[Collective::kAllReduce][Algorithm::kTree];
  return ring[Protocol::kLl128] == tuning::Exclusion::kNone ||
         tree[Protocol::kLl128] == tuning::Exclusion::kNone;
}

void addNodes(Remarks& remarks, const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  std::vector<int> ranks(plan.hostPlans.size(), 0);
  for (int first : c.nodes.firstRank)
    ranks[static_cast<std::size_t>(c.job.viewOf(first))] =
        static_cast<int>(c.nodes.ranks(c.nodes.ofRank[static_cast<std::size_t>(first)]).size());
  Remark remark{Remarked::kRanksPerNode, {}, ""};
  for (int count : ranks) remark.byView.push_back(std::to_string(count));
  if (c.nodes.minLocalRanks != c.nodes.maxLocalRanks) remarks.all.push_back(remark);
  if (c.nodes.count() == c.job.hosts()) return;
  remark = {Remarked::kSeparateDomains, std::vector<std::string>(plan.hostPlans.size(), ""),
            fmt::format("{} nodes", c.nodes.count())};
  for (const connect::HostShape& shape : c.job.shapes) {
    const std::set<int> domains(shape.viewOfLocal.begin(), shape.viewOfLocal.end());
    for (int view : domains)
      remark.byView[static_cast<std::size_t>(view)] =
          domains.size() == 1 ? "1 node a host" : fmt::format("{} nodes a host", domains.size());
  }
  remarks.all.push_back(std::move(remark));
}

}  // namespace

const char* name(Remarked what) {
  switch (what) {
    case Remarked::kGpus:
      return "gpus";
    case Remarked::kCpus:
      return "cpus";
    case Remarked::kNics:
      return "nics";
    case Remarked::kNicNames:
      return "nicNames";
    case Remarked::kRings:
      return "rings";
    case Remarked::kRingPaths:
      return "ringPaths";
    case Remarked::kRingNics:
      return "ringNics";
    case Remarked::kNicOfChannel:
      return "nicOfChannel";
    case Remarked::kTrees:
      return "trees";
    case Remarked::kTreePaths:
      return "treePaths";
    case Remarked::kNvls:
      return "nvls";
    case Remarked::kCollnet:
      return "collnet";
    case Remarked::kRanksPerNode:
      return "ranksPerNode";
    case Remarked::kSeparateDomains:
      return "separateDomains";
  }
  return "";
}

std::string nicNames(const topology::System& system) {
  std::vector<topology::Net> nics;
  for (const topology::NodeId nic : system.nodes(topology::NodeType::kNet)) nics.push_back(system.net(nic));
  std::stable_sort(nics.begin(), nics.end(),
                   [](const topology::Net& a, const topology::Net& b) { return a.dev < b.dev; });
  struct Run {
    std::string stem;
    int first = -1, last = -1;  // -1: a name without a number
    std::string text() const {
      if (first < 0) return stem;
      return first == last ? fmt::format("{}{}", stem, first) : fmt::format("{}{}-{}", stem, first, last);
    }
  };
  std::vector<Run> runs;
  constexpr std::size_t kMaxDigits = 6;
  for (const topology::Net& nic : nics) {
    const std::size_t end = nic.name.find_last_not_of("0123456789") + 1;
    const bool hasNumber = end < nic.name.size() && nic.name.size() - end <= kMaxDigits;
    const std::string stem = hasNumber ? nic.name.substr(0, end) : nic.name;
    const int number = hasNumber ? std::stoi(nic.name.substr(end)) : -1;
    const bool goesOn =
        hasNumber && !runs.empty() && runs.back().stem == stem && runs.back().last + 1 == number;
    if (goesOn)
      runs.back().last = number;
    else
      runs.push_back({stem, number, number});
  }
  std::vector<std::string> parts;
  for (const Run& run : runs) parts.push_back(run.text());
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Remark> remarksOn(const plan::Plan& plan) {
  Remarks remarks(plan);
  const auto graph = [&](search::GraphKind kind) {
    return [&plan, kind](const plan::HostPlan& host) { return graphText(plan, host, kind); };
  };
  remarks.add(
      Remarked::kGpus, [](const plan::HostPlan& host) { return gpusOf(host.system()); },
      hasLl128(plan) ? "" : "no LL128");
  remarks.add(
      Remarked::kCpus,
      [](const plan::HostPlan& host) {
        const topology::Cpu* cpu = host.system().firstCpu();
        return cpu == nullptr ? std::string("none") : cpuText(*cpu);
      },
      jobCpu(plan));
  if (plan.job().hosts() > 1) {
    remarks.add(Remarked::kNics, nicsOf, "", mixNetworks(plan));
    remarks.add(
        Remarked::kNicNames, [](const plan::HostPlan& host) { return nicNames(host.system()); }, "");
  }
  const auto paths = [&](search::GraphKind kind) {
    return [&plan, kind](const plan::HostPlan& host) { return graphPaths(plan, host, kind); };
  };
  remarks.add(Remarked::kRings, graph(search::GraphKind::kRing), mergedText(plan, search::GraphKind::kRing));
  remarks.add(Remarked::kRingPaths, paths(search::GraphKind::kRing),
              mergedPaths(plan, search::GraphKind::kRing));
  if (plan.connections.nodes.count() > 1) {
    remarks.add(
        Remarked::kRingNics,
        [](const plan::HostPlan& host) { return nicsOfRings(host.graphs[search::GraphKind::kRing]); }, "");
    remarks.add(Remarked::kNicOfChannel, nicOfChannels, "");
  }
  remarks.add(Remarked::kTrees, graph(search::GraphKind::kTree), mergedText(plan, search::GraphKind::kTree));
  remarks.add(Remarked::kTreePaths, paths(search::GraphKind::kTree),
              mergedPaths(plan, search::GraphKind::kTree));
  if (plan.offered.nvls)
    remarks.add(Remarked::kNvls, graph(search::GraphKind::kNvls), mergedText(plan, search::GraphKind::kNvls));
  if (plan.offered.collnet)
    remarks.add(Remarked::kCollnet, graph(search::GraphKind::kCollnetChain),
                mergedText(plan, search::GraphKind::kCollnetChain));
  addNodes(remarks, plan);
  return std::move(remarks.all);
}

}  // namespace xylem::preflight
