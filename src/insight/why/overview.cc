// why gdr, why nic and why p2p without GPUs and NICs: the answer for all of them, a table each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "insight/why/names.h"
#include "insight/why/questions.h"
#include "insight/why/rules.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"

namespace xylem::why {
namespace {

// The first host of each kind, and its ranks.
std::vector<std::vector<int>> ranksOfKinds(const plan::Plan& plan) {
  const connect::Job& job = plan.job();
  std::set<int> seen;
  std::vector<std::vector<int>> all;
  for (int host = 0; host < job.hosts(); ++host) {
    if (!seen.insert(job.shapeOfHost[static_cast<std::size_t>(host)]).second) continue;
    std::vector<int>& ranks = all.emplace_back();
    for (int local = 0; local < job.shapeOf(host).ranks(); ++local) ranks.push_back(job.rank(host, local));
  }
  return all;
}

// "GPU 0, GPU 1 and 6 more"
std::string shortList(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 4;
  if (names.empty()) return "-";
  const std::size_t named = std::min(names.size(), kMaxNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (names.size() > named) text += fmt::format(" and {} more", names.size() - named);
  return text;
}

const char* directionsText(bool receives, bool sends) {
  if (receives) return sends ? "yes" : "receiving only";
  return sends ? "sending only" : "no";
}

// Steps of different outcomes, each once, as examples of what decides.
class Examples {
 public:
  explicit Examples(Answer& answer) : answer_(answer) {}
  void add(const HostRules& rules, const paths::Decision& decision) {
    constexpr std::size_t kMaxExamples = 4;
    if (answer_.steps.size() < kMaxExamples && seen_.insert(rules.sentence(decision)).second)
      answer_.steps.push_back(rules.step(decision));
  }

 private:
  Answer& answer_;
  std::set<std::string> seen_;
};

std::string reasonOf(const HostRules& rules, const paths::Decision& decision) {
  std::string reason = rules.sentence(decision);
  if (const std::size_t colon = reason.find(": "); colon != std::string::npos)
    reason = reason.substr(colon + 2);
  return reason;
}

// The end of a ring at a host: a rank, and its NIC.
struct RingEndCell {
  std::string gpu, net, proxy, gdr;
};

std::optional<RingEndCell> ringEndOf(const connect::NetChoice& choice, const HostRules& rules, int rank,
                                     int channel, int peer, paths::Direction direction) {
  const auto end = choice.ringEnd(rank, channel, peer, direction);
  if (!end) return std::nullopt;
  return RingEndCell{gpuName(rank), end->net == topology::kNoNode ? "none" : rules.name(end->net),
                     end->proxy < 0 || end->proxy == rank ? "" : fmt::format("rank {}", end->proxy),
                     end->gdr ? "yes" : "no"};
}

}  // namespace

Answer whyGdrOfAll(const QuestionContext& context) {
  Answer answer;
  answer.question = "gdr";
  Examples examples(answer);
  AnswerTable table{"GPUs and NICs of a host", {"GPU", "NICs", "GPU Direct RDMA", "because"}, {}};
  int gpus = 0;
  int with = 0;
  std::map<std::string, int> refusals;
  for (const std::vector<int>& ranks : ranksOfKinds(context.plan))
    for (const int rank : ranks) {
      const HostRules rules(context.plan, rank);
      const topology::NodeId gpu = context.plan.job().gpuOf(rank);
      bool any = false;
      std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> groups;
      for (const topology::NodeId net : rules.system().nodes(topology::NodeType::kNet)) {
        const paths::Decision receive = rules.gdr(gpu, net, paths::Direction::kReceive);
        const paths::Decision send = rules.gdr(gpu, net, paths::Direction::kSend);
        const paths::Decision& telling = receive.yes ? send : receive;
        any = any || (receive.yes && send.yes);
        std::string reason = reasonOf(rules, telling);
        if (telling.relay != topology::kNoNode && telling.relay != gpu)
          reason = "through the GPU beside the NIC (PXN): " + reason;
        if (!telling.yes) {
          ++refusals[reason];
          examples.add(rules, telling);
        }
        const std::pair key(std::string(directionsText(receive.yes, send.yes)), reason);
        auto group =
            std::find_if(groups.begin(), groups.end(), [&](const auto& entry) { return entry.first == key; });
        if (group == groups.end()) {
          groups.emplace_back(key, std::vector<std::string>());
          group = groups.end() - 1;
        }
        group->second.push_back(rules.name(net));
      }
      for (const auto& [key, nets] : groups)
        table.rows.push_back({gpuName(rank), shortList(nets), key.first, key.second});
      ++gpus;
      with += any ? 1 : 0;
    }
  answer.yes = with == gpus;
  const auto most = std::max_element(refusals.begin(), refusals.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (with == gpus)
    answer.headline = fmt::format("every GPU has GPU Direct RDMA with a NIC at least ({} of {})", with, gpus);
  else if (most == refusals.end())
    answer.headline = "no GPU Direct RDMA: the host has no NIC";
  else
    answer.headline =
        fmt::format("{} of {} GPUs have GPU Direct RDMA with a NIC; where it is off, mostly: {}", with, gpus,
                    most->first);
  answer.tables.push_back(std::move(table));
  answer.notes.emplace_back("`gdr gpu0 nic0` shows the rules behind one pair, and what would change it.");
  return answer;
}

namespace {

// The host of `rank`, and the number of a NET there, which is the same in all parts of the host.
std::pair<int, int> hostsNet(const plan::Plan& plan, int rank, topology::NodeId net) {
  return {plan.job().hostOf(rank), plan.hostOf(rank).system().net(net).dev};
}

}  // namespace

Answer whyNicOfAll(const QuestionContext& context) {
  const plan::Plan& plan = context.plan;
  const connect::Connections& c = plan.connections;
  const connect::NetChoice choice(c, plan.reach);
  Answer answer;
  answer.question = "nic";
  AnswerTable own{"GPUs of a host and their own NICs", {"GPU", "own NICs", "path", "GB/s", "GDR"}, {}};
  AnswerTable rings{"NICs where the rings enter and leave a host",
                    {"channel", "enters at", "NIC", "proxy", "GDR", "leaves at", "NIC", "proxy", "GDR"},
                    {}};
  std::set<std::pair<int, int>> nets, used;  // hosts and numbers of NETs
  for (const std::vector<int>& ranks : ranksOfKinds(plan)) {
    for (const int rank : ranks) {
      const HostRules rules(plan, rank);
      for (const topology::NodeId net : rules.system().nodes(topology::NodeType::kNet))
        nets.insert(hostsNet(plan, rank, net));
      const topology::NodeId gpu = plan.job().gpuOf(rank);
      const std::vector<topology::NodeId> near = rules.locality().localNets(gpu);
      if (near.empty()) {
        own.rows.push_back({gpuName(rank), "-", "", "", ""});
        continue;
      }
      std::vector<std::string> names;
      for (const topology::NodeId net : near) names.push_back(rules.name(net));
      const paths::Path& path = rules.paths().path(gpu, near.front());
      own.rows.push_back({gpuName(rank), shortList(names), paths::name(path.type),
                          fmt::format("{:.1f}", path.bandwidth),
                          directionsText(rules.gdr(gpu, near.front(), paths::Direction::kReceive).yes,
                                         rules.gdr(gpu, near.front(), paths::Direction::kSend).yes)});
    }
    if (c.nodes.count() < 2) continue;
    for (int channel = 0; channel < c.of(ranks.front()).channels.total(); ++channel) {
      RingEndCell in{"-", "", "", ""};
      RingEndCell out{"-", "", "", ""};
      for (const int rank : ranks) {
        if (channel >= c.of(rank).channels.total()) continue;
        const HostRules rules(plan, rank);
        const connect::RingNeighbours ring = connect::ringNeighbours(c, rank, channel);
        if (auto end = ringEndOf(choice, rules, rank, channel, ring.previous, paths::Direction::kReceive))
          in = *end;
        if (auto end = ringEndOf(choice, rules, rank, channel, ring.next, paths::Direction::kSend))
          out = *end;
        for (const auto direction : {paths::Direction::kReceive, paths::Direction::kSend})
          if (const auto end = choice.ringEnd(
                  rank, channel, direction == paths::Direction::kSend ? ring.next : ring.previous, direction);
              end && end->net != topology::kNoNode)
            used.insert(hostsNet(plan, rank, end->net));
      }
      rings.rows.push_back(
          {std::to_string(channel), in.gpu, in.net, in.proxy, in.gdr, out.gpu, out.net, out.proxy, out.gdr});
    }
  }
  answer.headline = nets.empty() ? "no GPU uses a NIC: the host has none"
                                 : fmt::format("the rings use {} of {} NICs{}", used.size(), nets.size(),
                                               used.size() == nets.size() ? "" : "; `nic gpu0` says why");
  answer.tables.push_back(std::move(own));
  if (!rings.rows.empty()) answer.tables.push_back(std::move(rings));
  answer.notes.emplace_back(
      "`nic gpu0` shows how a GPU's NICs are chosen, sends to other hosts, and why NICs are not used.");
  return answer;
}

Answer whyP2pOfAll(const QuestionContext& context) {
  const plan::Plan& plan = context.plan;
  const connect::NetChoice choice(plan.connections, plan.reach);
  Answer answer;
  answer.question = "p2p";
  Examples examples(answer);
  AnswerTable table{"GPUs of a host", {"GPU", "direct access", "shared memory", "the network"}, {}};
  int pairs = 0;
  int direct = 0;
  for (const std::vector<int>& ranks : ranksOfKinds(plan))
    for (const int rank : ranks) {
      const HostRules rules(plan, rank);
      const topology::NodeId gpu = plan.job().gpuOf(rank);
      std::vector<std::string> ways[3];
      for (const int peer : ranks) {
        if (peer == rank) continue;
        ++pairs;
        const connect::TransportKind way = choice.transport(rank, peer, paths::Direction::kSend);
        const bool p2p = way == connect::TransportKind::kP2p, shm = way == connect::TransportKind::kShm;
        direct += p2p ? 1 : 0;
        ways[p2p ? 0 : shm ? 1 : 2].push_back(gpuName(peer));
        const topology::NodeId other = plan.job().gpuSeenBy(rank, peer);
        if (other == topology::kNoNode) continue;
        const paths::Decision* made = rules.made(paths::Rule::kP2p, gpu, other);
        const paths::Decision level = made != nullptr ? *made : rules.reach().p2p(gpu, other);
        if (!level.yes) examples.add(rules, level);
      }
      const auto cell = [](const std::vector<std::string>& names) {
        constexpr std::size_t kFew = 8;
        return names.size() > kFew ? shortList(names)
               : names.empty()     ? "-"
                                   : fmt::format("{}", fmt::join(names, ", "));
      };
      table.rows.push_back({gpuName(rank), cell(ways[0]), cell(ways[1]), cell(ways[2])});
    }
  answer.yes = direct == pairs;
  answer.headline =
      pairs == 0 ? "a host has one GPU: there are no pairs"
      : direct == pairs
          ? "all GPUs of a host reach each other by direct access (P2P)"
          : fmt::format("{} of {} pairs of GPUs of a host have direct access (P2P)", direct / 2, pairs / 2);
  answer.tables.push_back(std::move(table));
  answer.notes.emplace_back("`p2p gpu0 gpu1` shows the rules behind one pair, and what would change it.");
  return answer;
}

}  // namespace xylem::why
