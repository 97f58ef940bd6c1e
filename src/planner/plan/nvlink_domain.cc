#include "planner/plan/nvlink_domain.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/error.h"
#include "planner/connect/job.h"
#include "planner/paths/reach.h"
#include "planner/topology/attributes.h"

namespace xylem::plan {
namespace {

// Hosts of one description are planned for together if they are in one …
enum class Together { kDomain, kRack, kHost };

constexpr int kCliqueIsRack = -2;  // of NCCL_MNNVL_CLIQUE_ID

Together rule(const rules::RuleSet& rules, const Settings& settings) {
  constexpr int kOff = 0, kOn = 1;
  const std::int64_t asked = settings.integer(Setting::kMnnvlEnable);
  const auto level = paths::ReachOptions::from(settings, rules).p2pLevel;
  const bool noP2p = rules.mnnvlNeedsP2p && level == paths::PathType::kLoc;
  if (asked == kOff || (noP2p && asked != kOn)) return Together::kHost;
  const bool racks = rules.cliquesByRack && settings.integer(Setting::kMnnvlCliqueId) == kCliqueIsRack;
  return racks ? Together::kRack : Together::kDomain;
}

std::vector<topology::ElementId> cpusOf(const topology::Document& document) {
  std::vector<topology::ElementId> cpus;
  for (const topology::ElementId child : document[document.root()].children)
    if (document[child].name == "cpu") cpus.push_back(child);
  return cpus;
}

std::uint64_t hostOf(const topology::Document& document, topology::ElementId cpu) {
  return topology::Attributes(document, cpu).hex("host_hash", 0);
}

bool hasSeveralHosts(const topology::Document& document) {
  const auto cpus = cpusOf(document);
  return std::any_of(cpus.begin(), cpus.end(), [&](topology::ElementId cpu) {
    return hostOf(document, cpu) != hostOf(document, cpus.front());
  });
}

// A description in parts. Parts are in the order of their lowest ranks, and number their ranks from 0.
class Parts {
 public:
  Parts(const topology::Document& whole, Together together) {
    std::map<std::string, std::vector<topology::ElementId>> cpusOf;
    std::map<int, std::pair<std::string, topology::ElementId>> ranks;  // the part and the gpu element
    for (const topology::ElementId cpu : plan::cpusOf(whole)) {
      const std::string part =
          together == Together::kRack ? rackOf(whole, cpu) : std::to_string(hostOf(whole, cpu));
      cpusOf[part].push_back(cpu);
      collectRanks(whole, cpu, part, ranks);
    }
    std::map<std::string, int> numbers;
    std::vector<int> next;  // by part: the next rank
    for (const auto& [rank, place] : ranks) {
      const auto [number, isNew] = numbers.emplace(place.first, static_cast<int>(documents.size()));
      if (isNew) {
        documents.push_back(partOf(whole, cpusOf.at(place.first)));
        next.push_back(0);
      }
      const auto part = static_cast<std::size_t>(number->second);
      documents[part].set(place.second, "rank", std::to_string(next[part]++));
      partOfRank.push_back(number->second);
    }
  }

  std::vector<topology::Document> documents;
  std::vector<int> partOfRank;  // by rank of the whole description

 private:
  static std::string rackOf(const topology::Document& whole, topology::ElementId cpu) {
    const topology::Attributes attributes(whole, cpu);
    if (!attributes.has("rack"))
      attributes.fail("a cpu without `rack`, where NCCL_MNNVL_CLIQUE_ID=-2 makes each rack a clique",
                      "rack=\"its serial number\" on every cpu");
    return attributes.text("rack");
  }

  static void collectRanks(const topology::Document& whole, topology::ElementId id, const std::string& part,
                           std::map<int, std::pair<std::string, topology::ElementId>>& ranks) {
    if (whole[id].name == "gpu" && whole.attribute(id, "rank") != nullptr) {
      const auto rank = topology::Attributes(whole, id).integer("rank", 0, std::numeric_limits<int>::max());
      ranks[static_cast<int>(rank)] = {part, id};
    }
    for (const topology::ElementId child : whole[id].children) collectRanks(whole, child, part, ranks);
  }

  // The description with these cpu elements alone.
  static topology::Document partOf(topology::Document document,
                                   const std::vector<topology::ElementId>& cpus) {
    std::vector<topology::ElementId> leaving;
    for (const topology::ElementId child : plan::cpusOf(document))
      if (std::find(cpus.begin(), cpus.end(), child) == cpus.end()) leaving.push_back(child);
    document.detachChildren(document.root(), leaving);
    return document;
  }
};

// By rank of the job: its host, where `ranksOf` counts the ranks of each host.
std::vector<int> hostOfRank(const PlanRequest& request, const std::vector<int>& ranksOf) {
  if (!request.hostOfRank.empty()) return request.hostOfRank;
  return request.placement == Placement::kBlocks ? connect::hostsInBlocks(ranksOf)
                                                 : connect::hostsInTurn(ranksOf);
}

}  // namespace

// Equal hosts become equal parts: first the first part of all of them, then the second.
std::optional<SplitRequest> splitDomains(
    const PlanRequest& request, const rules::RuleSet& rules, const Settings& settings,
    const std::function<topology::Document(const HostRequest&)>& describe) {
  const Together together = rule(rules, settings);
  if (together == Together::kDomain || !request.splitsDomains ||
      std::none_of(request.hosts.begin(), request.hosts.end(),
                   [](const HostRequest& host) { return hasSeveralHosts(*host.topology); }))
    return std::nullopt;
  SplitRequest split{request, {}};
  split.request.hosts.clear();
  split.request.fuse = false;
  struct Whole {
    Parts parts;
    int copies = 0;
    int firstHost = 0;  // of its first part
  };
  std::vector<Whole> wholes;
  std::vector<std::pair<std::size_t, int>> wholeOfHost;  // by host as asked: its whole, and which copy of it
  std::vector<int> ranksOf;
  int hosts = 0;
  for (std::size_t i = 0; i < request.hosts.size(); ++i) {
    const HostRequest& asked = request.hosts[i];
    Whole whole{Parts(describe(asked), together), asked.count, hosts};
    for (const topology::Document& document : whole.parts.documents) {
      split.request.hosts.push_back({std::make_shared<const topology::Document>(document), {}, asked.count});
      split.origin.push_back(i);
      hosts += asked.count;
    }
    for (int copy = 0; copy < asked.count; ++copy) {
      wholeOfHost.emplace_back(i, copy);
      ranksOf.push_back(static_cast<int>(whole.parts.partOfRank.size()));
    }
    wholes.push_back(std::move(whole));
  }
  if (split.request.hosts.size() == request.hosts.size()) return std::nullopt;
  std::vector<std::size_t> next(ranksOf.size(), 0);
  split.request.hostOfRank.clear();
  for (const int host : hostOfRank(request, ranksOf)) {
    const auto asked = static_cast<std::size_t>(host);
    if (host < 0 || asked >= ranksOf.size() || next[asked] == static_cast<std::size_t>(ranksOf[asked]))
      throw Error(ResultCode::kInvalidArgument, "a rank is placed on host {}, which has no place for it",
                  host);
    const auto [index, copy] = wholeOfHost[asked];
    const Whole& whole = wholes[index];
    const int part = whole.parts.partOfRank[next[asked]++];
    split.request.hostOfRank.push_back(whole.firstHost + part * whole.copies + copy);
  }
  return split;
}

}  // namespace xylem::plan
