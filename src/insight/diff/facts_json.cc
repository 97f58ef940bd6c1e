// Facts from a plan's JSON. The JSON may come from a file that holds anything: every access checks the
// value, and throws nlohmann's exceptions or std::logic_error.

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "insight/diff/facts.h"
#include "planner/plan/json_value.h"

namespace xylem::diff {
namespace {

// Levels of nesting; plans have nine. nlohmann's dump() recurses, so that deep values would exhaust the
// stack.
constexpr int kMaxDepth = 32;

// The value for people. Control characters, which would move a terminal's cursor, become question marks.
std::string text(const plan::Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  // So that 25 and 25.0 compare equal.
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return shown;
}

std::string bandwidthText(const plan::Json& value) { return fmt::format("{:.1f}", value.get<double>()); }

std::string yesNo(const plan::Json& value) {
  return (value.is_boolean() ? value.get<bool>() : value.get<double>() != 0) ? "yes" : "no";
}

// Throws for numbers that T cannot hold: nlohmann casts them, which is undefined for floats out of range.
template <typename T = int>
T integer(const plan::Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const bool fits = value.is_number_unsigned()  ? std::in_range<T>(value.get<std::uint64_t>())
                    : value.is_number_integer() ? std::in_range<T>(value.get<std::int64_t>())
                                                : false;
  if (!fits) throw std::invalid_argument(fmt::format("`{}` where an integer belongs", text(value)));
  return value.get<T>();
}

std::vector<int> integers(const plan::Json& list) {
  if (!list.is_array()) throw std::invalid_argument(fmt::format("`{}` where a list belongs", text(list)));
  std::vector<int> values;
  for (const plan::Json& value : list) values.push_back(integer(value));
  return values;
}

// The index of an element in a sample of a list.
int placeOf(const std::string& text) {
  int place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(fmt::format("a sample of a list with the place `{}`", text));
  return place;
}

// Calls `use` for the elements of a list with their indices. Long lists in light plans are objects with a
// sample of the elements: {"sample": {"7": …}}.
template <typename Use>
void forEachPlace(const plan::Json& list, const Use& use) {
  if (list.is_array()) {
    for (std::size_t i = 0; i < list.size(); ++i) use(static_cast<int>(i), list[i]);
    return;
  }
  for (const auto& [place, value] : list.at("sample").items()) use(placeOf(place), value);
}

NodeFacts nodeOf(const plan::Json& json) {
  NodeFacts node{.name = text(json.at("name")), .type = text(json.at("type"))};
  if (std::none_of(topology::kAllNodeTypes.begin(), topology::kAllNodeTypes.end(),
                   [&](topology::NodeType type) { return node.type == topology::name(type); }))
    throw std::invalid_argument(fmt::format("a node of type `{}`", node.type));
  for (const auto& [key, value] : json.items()) {
    if (key == "name" || key == "type") continue;
    if (key == "rank")
      node.rank = integer(value);
    else if (key == "device" && node.type == "NET")
      node.device = text(value);
    else
      node.attributes.emplace_back(text(key), text(value));
  }
  return node;
}

LinkFacts linkOf(const plan::Json& json) {
  return {text(json.at("from")), text(json.at("to")), text(json.at("type")),
          json.at("bandwidth").get<double>()};
}

// Reads the decisions of a host: matrices of 0 and 1, GPUs by GPUs or GPUs by NETs.
class ReachReader {
 public:
  explicit ReachReader(HostFacts& host) : host_(host) {
    for (const NodeFacts& node : host.nodes) {
      if (node.type == "NET") nets_.push_back(node.name);
      if (node.type != "GPU") continue;
      gpus_.push_back(node.name);
      gpuOfRank_[node.rank] = node.name;
    }
  }

  void read(const plan::Json& json) {
    if (const auto p2p = json.find("p2p"); p2p != json.end()) {
      add(kRuleP2p, gpus_, &p2p->at("allowed"), &p2p->at("relay"));
      add(kRuleShm, gpus_, &p2p->at("transportShm"));
      add(kRuleNetIsBetter, gpus_, &p2p->at("netIsBetter"));
    }
    if (const auto gdr = json.find("gdr"); gdr != json.end()) {
      add(kRuleGdrReceive, nets_, &gdr->at("receive"));
      add(kRuleGdrSend, nets_, &gdr->at("send"));
      add(kRuleProxy, nets_, nullptr, &gdr->at("proxyRank"));
    }
  }

 private:
  // Adds a decision for each cell; null `cells` count as 1. `relays` holds a rank for each cell.
  void add(const char* rule, const std::vector<std::string>& columns, const plan::Json* cells,
           const plan::Json* relays = nullptr) {
    for (std::size_t r = 0; r < gpus_.size(); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (gpus_[r] == columns[c]) continue;
        DecisionFacts decision{.rule = rule, .from = gpus_[r], .to = columns[c], .yes = true};
        if (cells != nullptr) decision.yes = integer(cells->at(r).at(c)) != 0;
        if (relays != nullptr) decision.relay = relayAt(integer(relays->at(r).at(c)), gpus_[r]);
        host_.decisions.push_back(std::move(decision));
      }
    }
  }

  std::string relayAt(int rank, const std::string& self) const {
    const auto found = gpuOfRank_.find(rank);
    return found == gpuOfRank_.end() || found->second == self ? "" : found->second;
  }

  HostFacts& host_;
  std::vector<std::string> gpus_, nets_;
  std::map<int, std::string> gpuOfRank_;
};

// For graphs of a host, and for merged ones, which have fewer values.
GraphFacts graphOf(const std::string& name, const plan::Json& json) {
  GraphFacts graph{.name = name, .channels = integer(json.at("nChannels"))};
  const auto add = [&](const char* key, const char* title, const auto& shown) {
    if (const auto value = json.find(key); value != json.end())
      graph.values.emplace_back(title, shown(*value));
  };
  add("pattern", "pattern", text);
  add("nChannels", "channels", text);
  add("bwIntra", "GB/s per channel", bandwidthText);
  add("bwInter", "GB/s per channel to NETs", bandwidthText);
  add("typeIntra", "GPU-GPU", text);
  add("typeInter", "GPU-NET", text);
  add("crossNic", "crosses NICs", yesNo);
  add("latencyInter", "us to NETs", bandwidthText);
  if (const auto channels = json.find("channels"); channels != json.end()) {
    for (const plan::Json& channel : *channels) {
      GraphChannel read{integers(channel.at("ranks")), {}};
      if (const auto nets = channel.find("nets"); nets != channel.end())
        for (const plan::Json& net : *nets) read.nets.push_back(text(net));
      graph.order.push_back(std::move(read));
    }
  }
  return graph;
}

std::vector<GraphFacts> graphsOf(const plan::Json& json) {
  std::vector<GraphFacts> graphs;
  for (const auto& [name, graph] : json.items()) graphs.push_back(graphOf(text(name), graph));
  return graphs;
}

RingEnd ringEndOf(const plan::Json& json) {
  if (json.contains("refused")) return {};
  return {text(json.at("net")), integer(json.at("proxy")), integer(json.at("gdr")) == 1};
}

RankFacts rankOf(const plan::Json& json) {
  RankFacts rank;
  const auto& down = json.at("treeDown");
  for (const auto& up : json.at("treeUp")) {
    std::vector<int> tree = {integer(up)};
    for (const plan::Json& below : down.at(rank.trees.size())) tree.push_back(integer(below));
    rank.trees.push_back(std::move(tree));
  }
  for (const auto& [key, ends] : {std::pair{"ringNetSend", &rank.sends}, {"ringNetRecv", &rank.receives}}) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    forEachPlace(*found, [ends = ends](int channel, const plan::Json& end) {
      if (!end.is_null()) (*ends)[channel] = ringEndOf(end);
    });
  }
  return rank;
}

void readConnections(PlanFacts& facts, const plan::Json& json) {
  const auto count = [&](const char* key, const char* title) {
    if (const auto value = json.find(key); value != json.end())
      facts.counts.emplace_back(title, text(*value));
  };
  count("nChannels", "channels");
  count("collChannels", "channels of collectives");
  count("nvlsChannels", "channels of NVLS");
  count("p2pChannels", "channels of send and receive");
  count("p2pChannelsPerPeer", "channels of send and receive per peer");
  if (const auto rings = json.find("rings"); rings != json.end())
    forEachPlace(*rings, [&](int channel, const plan::Json& ring) {
      if (ring.is_array()) facts.rings[channel] = integers(ring);
    });
  addRankFacts(facts, json);
}

void readJob(PlanFacts& facts, const plan::Json& json) {
  facts.ranks = integer(json.at("ranks"));
  const auto count = [&](const char* key, const char* title) {
    if (const auto value = json.find(key); value != json.end())
      facts.counts.emplace_back(title, text(*value));
  };
  count("ranks", "ranks");
  count("nodes", "nodes as NCCL counts them");
  count("maxLocalRanks", "ranks of a node, at most");
  count("minComputeCapability", "lowest compute capability");
  count("maxComputeCapability", "highest compute capability");
  count("allNvlink", "GPUs of a host all joined by NVLink");
  count("nvls", "NVLS");
  count("collnet", "CollNet");
  count("collnetHeads", "CollNet heads");
}

void readInput(PlanFacts& facts, const plan::Json& json) {
  const auto nccl = json.find("nccl");
  facts.nccl = nccl == json.end() ? rules::unnamedVersionText() : text(*nccl);
  facts.asked.emplace_back("planned as NCCL", facts.nccl);
  if (const auto hosts = json.find("hosts"); hosts != json.end()) facts.hostCount = integer(*hosts);
  for (const auto& [key, title] : {std::pair{"hosts", "hosts"},
                                   {"nvls", "NVLink multicast offered"},
                                   {"collnet", "CollNet offered"},
                                   {"fuse", "described as ranks would"}})
    if (const auto value = json.find(key); value != json.end()) facts.asked.emplace_back(title, text(*value));
  if (const auto settings = json.find("settings"); settings != json.end())
    for (const auto& [name, value] : settings->items()) facts.settings.emplace_back(text(name), text(value));
}

void readChoices(PlanFacts& facts, const plan::Json& json) {
  for (const auto& [collective, sizes] : json.items()) {
    auto& list = facts.choices.emplace_back(text(collective), std::vector<ChoiceFacts>()).second;
    for (const plan::Json& size : sizes) {
      ChoiceFacts choice{.bytes = integer<std::uint64_t>(size.at("bytes"))};
      if (!size.contains("error")) {
        choice.candidate = text(size.at("algorithm")) + " " + text(size.at("protocol"));
        choice.time = size.at("time").get<double>();
      }
      list.push_back(std::move(choice));
    }
  }
}

int gpusIn(const HostFacts& host) {
  return static_cast<int>(std::count_if(host.nodes.begin(), host.nodes.end(),
                                        [](const NodeFacts& node) { return node.type == "GPU"; }));
}

}  // namespace

HostFacts hostFactsOf(const plan::Json& json) {
  HostFacts host;
  const auto list = [&](const char* key, auto& facts, const auto& read) {
    if (const auto values = json.find(key); values != json.end())
      for (const plan::Json& value : *values) facts.push_back(read(value));
  };
  list("nodes", host.nodes, nodeOf);
  list("links", host.links, linkOf);
  list("paths", host.paths, linkOf);
  if (!host.nodes.empty()) ReachReader(host).read(json);
  host.graphs = graphsOf(json.at("graphs"));
  return host;
}

void addRankFacts(PlanFacts& facts, const plan::Json& json) {
  if (const auto ranks = json.find("ranks"); ranks != json.end())
    forEachPlace(*ranks, [&](int, const plan::Json& rank) {
      facts.rankFacts[integer(rank.at("rank"))] = rankOf(rank);
    });
}

PlanFacts planFactsOf(const plan::Json& json) {
  PlanFacts facts;
  readInput(facts, json.at("input"));
  readJob(facts, json.at("job"));
  if (const auto hosts = json.find("hosts"); hosts != json.end()) {
    for (const plan::Json& host : *hosts) {
      facts.hosts.push_back(hostFactsOf(host));
      facts.hosts.back().topology = text(host.at("topology"));
      facts.hosts.back().allGpus = gpusIn(facts.hosts.back()) == static_cast<int>(host.at("gpus").size());
    }
  } else {
    facts.hosts.push_back(hostFactsOf(json.at("host")));
    facts.hosts.back().allGpus = std::int64_t{gpusIn(facts.hosts.back())} * facts.hostCount == facts.ranks;
  }
  facts.merged = graphsOf(json.at("merged"));
  readConnections(facts, json.at("connections"));
  readChoices(facts, json.at("tuning").at("choice"));
  return facts;
}

PlanFacts factsOfJson(std::string_view content, const std::string& file) {
  constexpr const char* kExpected = "a plan as `xylem plan --json` prints it (format xylem-plan-1)";
  try {
    const plan::Json json =
        plan::Json::parse(content, [&](int depth, plan::Json::parse_event_t, plan::Json&) {
          if (depth > kMaxDepth) throw InputError({file, 0}, "JSON nested deeper than any plan", kExpected);
          return true;
        });
    if (!json.is_object() || !json.contains("format") || json.at("format") != "xylem-plan-1")
      throw InputError({file, 0}, "JSON of another format", kExpected);
    if (json.contains("error"))
      throw InputError({file, 0}, fmt::format("no plan but `{}`", text(json.at("error"))), kExpected);
    PlanFacts facts = planFactsOf(json);
    facts.title = file;
    return facts;
  } catch (const plan::Json::parse_error& error) {
    const std::size_t end = content.find_last_not_of(" \t\r\n") + 1;
    const bool isOver = error.byte > end;
    const std::string_view before = content.substr(0, isOver ? end : error.byte - 1);
    throw InputError({file, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'))},
                     isOver ? "JSON that ends too soon" : "text that is no JSON", kExpected);
  } catch (const plan::Json::exception& error) {
    // Behind a number of the library's own: "key 'input' not found".
    const std::string_view reason = error.what();
    throw InputError({file, 0},
                     fmt::format("a plan that cannot be read: {}", reason.substr(reason.find(']') + 2)),
                     kExpected);
  } catch (const std::logic_error& error) {
    throw InputError({file, 0}, error.what(), kExpected);
  }
}

}  // namespace xylem::diff
