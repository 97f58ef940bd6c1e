#pragma once
// A plan as a comparison sees it: names and numbers, whether they come from the planner or from a file that
// `xylem plan --json` wrote.
//
//   PlanFacts here = factsOf(plan, request);
//   PlanFacts there = factsOfJson(text, "plan.json");
//
// A plan from the planner knows more: the topology files, the sentence of every decision, every message size.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/planner.h"
#include "planner/topology/document.h"

namespace xylem {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

struct NodeFacts {
  std::string name;  // "GPU/0-1b000"
  std::string type;  // "GPU"
  int rank = -1;
  std::string device;      // of a NET: the name of the network device
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
  std::string relay;  // the node in between, or that does it for `from`; empty: none
  std::string why;    // empty: not known
};

struct GraphChannel {
  std::vector<int> ranks;
  std::vector<std::string> nets;  // at its ends; none without NETs
};

struct GraphFacts {
  std::string name;  // "ring"
  int channels = 0;
  NamedValues values;  // in the words of people: "GPU-NET", "PXB"
  std::vector<GraphChannel> order;
};

// A kind of host.
struct HostFacts {
  std::string topology;
  std::shared_ptr<const Document> document;  // null: not known
  std::vector<NodeFacts> nodes;              // empty in plans that leave them out
  // Plans in JSON name only the GPUs that reach each other without the network.
  bool allGpus = true;
  std::vector<LinkFacts> links;
  std::vector<PathFacts> paths;
  std::vector<DecisionFacts> decisions;
  std::vector<GraphFacts> graphs;
};

// How a rank leaves its node in the ring of a channel.
struct RingEnd {
  std::string net;  // empty: none can be used
  int proxy = -1;   // rank
  bool gdr = false;
};

struct RankFacts {
  std::vector<std::vector<int>> trees;     // by channel: the rank above and those below
  std::map<int, RingEnd> sends, receives;  // by channel
};

struct ChoiceFacts {
  std::uint64_t bytes = 0;
  std::string candidate;  // "Ring Simple"; empty: nothing can run it
  double time = 0;        // predicted, microseconds
};

struct PlanFacts {
  std::string title;  // what to call it
  int ranks = 0;
  int hostCount = 0;
  NamedValues asked;     // "hosts", "2"
  NamedValues settings;  // those that were set
  std::vector<HostFacts> hosts;
  std::vector<GraphFacts> merged;
  NamedValues counts;                                                     // of the job: "nodes", "2"
  std::map<int, std::vector<int>> rings;                                  // by channel
  std::map<int, RankFacts> rankFacts;                                     // of some ranks
  std::vector<std::pair<std::string, std::vector<ChoiceFacts>>> choices;  // by collective, sizes ascending
};

// `request` is what the plan was made of.
PlanFacts factsOf(const Plan& plan, const PlanRequest& request);
// Of a text in the format xylem-plan-1. Throws InputError, naming `file`.
PlanFacts factsOfJson(std::string_view text, const std::string& file);

// The rules' names in DecisionFacts.
inline constexpr const char* kRuleP2p = "direct access";
inline constexpr const char* kRuleShm = "shared memory";
inline constexpr const char* kRuleNetIsBetter = "the network rather than the path between them";
inline constexpr const char* kRuleGdrReceive = "GPU Direct RDMA when receiving";
inline constexpr const char* kRuleGdrSend = "GPU Direct RDMA when sending";
inline constexpr const char* kRuleProxy = "the GPU that hands its data to the NIC";

}  // namespace xylem
