#pragma once
// A plan as names and numbers, which comparisons read. They come from the planner or from a file that
// `xylem plan --json` wrote.
//
//   PlanFacts here = factsOf(plan, request);
//   PlanFacts there = factsOfJson(text, "plan.json");
//
// Facts from the planner are richer: they have the topology files, the sentence of every decision and every
// message size.

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/planner.h"
#include "planner/topology/document.h"

namespace xylem::diff {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

struct NodeFacts {
  std::string name;  // "GPU/0-1b000"
  std::string type;  // "GPU"
  int rank = -1;
  std::string device;      // for a NET, the name of the network device
  NamedValues attributes;  // all others
};

struct LinkFacts {
  std::string from, to, type;
  double bandwidth = 0;  // GB/s
};
using PathFacts = LinkFacts;

struct DecisionFacts {
  std::string rule;  // "direct access"
  std::string from, to;
  bool yes = false;
  std::string relay;  // the GPU in between, or whose proxy acts for `from`; empty: none
  std::string why;    // the reason; empty: not known
};

struct GraphChannel {
  std::vector<int> ranks;
  std::vector<std::string> nets;  // at its two ends; empty if the host has no NETs
};

struct GraphFacts {
  std::string name;  // "ring"
  int channels = 0;
  NamedValues values;               // for people: "GPU-NET", "PXB"
  std::vector<GraphChannel> order;  // its channels
};

// A kind of host.
struct HostFacts {
  std::string topology;
  std::shared_ptr<const topology::Document> document;  // null: not known
  std::vector<NodeFacts> nodes;                        // empty in plans that leave them out
  bool allGpus = true;  // false: the plan, in JSON, leaves out GPUs that only the network joins to the others
  std::vector<LinkFacts> links;
  std::vector<PathFacts> paths;
  std::vector<DecisionFacts> decisions;
  std::vector<GraphFacts> graphs;
};

// The NIC through which a rank sends or receives in the ring of a channel.
struct RingEnd {
  std::string net;  // empty: no NIC is usable
  int proxy = -1;   // the rank whose proxy drives the NIC
  bool gdr = false;
};

struct RankFacts {
  std::vector<std::vector<int>> trees;     // by channel: the parent, then the children
  std::map<int, RingEnd> sends, receives;  // by channel
};

struct ChoiceFacts {
  std::uint64_t bytes = 0;
  std::string candidate;  // "Ring Simple"; empty: nothing can run it
  double time = 0;        // predicted, microseconds
};

struct PlanFacts {
  std::string title;  // the plan's name in the comparison
  int ranks = 0;
  int hostCount = 0;
  std::string nccl;      // the version that it is planned as: "2.25.1"
  NamedValues asked;     // "hosts", "2"
  NamedValues settings;  // the variables that were set
  std::vector<HostFacts> hosts;
  std::vector<GraphFacts> merged;
  NamedValues counts;                                                     // of the job: "nodes", "2"
  std::map<int, std::vector<int>> rings;                                  // by channel
  std::map<int, RankFacts> rankFacts;                                     // by rank; not all ranks
  std::vector<std::pair<std::string, std::vector<ChoiceFacts>>> choices;  // by collective, sizes ascending
};

// `request`: the one that the plan was made for.
PlanFacts factsOf(const plan::Plan& plan, const plan::PlanRequest& request);
// Facts from a text in the format xylem-plan-1. Throws InputError that names `file`.
PlanFacts factsOfJson(std::string_view text, const std::string& file);

// Facts from a plan in JSON, or from its parts: the `host` section (nodes, links, paths, decisions, graphs)
// and the ranks of the `connections` section. They throw nlohmann's exceptions, or std::logic_error, for
// values that are missing or of another type.
PlanFacts planFactsOf(const nlohmann::ordered_json& plan);
HostFacts hostFactsOf(const nlohmann::ordered_json& host);
void addRankFacts(PlanFacts& facts, const nlohmann::ordered_json& connections);

// The rules' names in DecisionFacts.
inline constexpr const char* kRuleP2p = "direct access";
inline constexpr const char* kRuleShm = "shared memory";
inline constexpr const char* kRuleNetIsBetter = "the network rather than the path between them";
inline constexpr const char* kRuleGdrReceive = "GPU Direct RDMA when receiving";
inline constexpr const char* kRuleGdrSend = "GPU Direct RDMA when sending";
inline constexpr const char* kRuleProxy = "the GPU that hands its data to the NIC";

}  // namespace xylem::diff
