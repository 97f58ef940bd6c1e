#pragma once
// The parts of a comparison, causes before effects, and what they share; insight/diff/diff.h puts them
// together.
//
//   compareReach(a.hosts[0], b.hosts[0], match, "", diff);   // fills diff.paths and diff.decisions

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "insight/diff/diff.h"
#include "insight/diff/node_match.h"

namespace xylem::diff {

// Collects changes, and makes one Change of all things that changed in the same way. Changes keep the order
// of their first things.
//
//   ChangeList list;
//   const Change narrower{.kind = "GPU pair", .before = "NVL 240.0", .after = "NVL 80.0", .outOf = 28};
//   list.add(narrower, {"GPU 0 - GPU 1"});
//   list.add(narrower, {"GPU 0 - GPU 2"});
//   list.appendTo(diff.paths);   // one Change of two things
class ChangeList {
 public:
  explicit ChangeList(std::string where = "") : where_(std::move(where)) {}

  // Adds the thing to the changes that equal `change`, which has no things of its own.
  void add(Change change, ChangedThing thing);
  // Moves all changes there.
  void appendTo(Changes& changes);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

  std::string where_;
  Changes changes_;
  std::map<Key, std::size_t> known_;
};

// True if the numbers agree to the digits that plans in JSON keep: NCCL's own numbers are 32-bit floats.
bool sameNumber(double a, double b);
// At most `max` of the words: "0, 1, 2 ... 4 more ... 7".
std::string shortList(const std::vector<std::string>& words, std::size_t max, const char* between = ", ");
std::string ranksText(const std::vector<int>& ranks);

// Compares values by name, in the order of the first list. A value that one side lacks reads `absent` there.
void compareValues(const NamedValues& a, const NamedValues& b, const std::string& kind,
                   const std::string& where, Changes& changes, const std::string& absent = "");

// Fills machine, order, links and ranks. Returns how many NICs have other hardware ids in B.
int compareMachines(const HostFacts& a, const HostFacts& b, const NodeMatch& match, const Renaming& names,
                    const std::string& where, PlanDiff& diff);
// Fills paths and decisions.
void compareReach(const HostFacts& a, const HostFacts& b, const NodeMatch& match, const std::string& where,
                  PlanDiff& diff);
// Fills channels: the values of graphs, and the order of ranks in their channels. NETs that `match` does not
// know are compared by name.
void compareGraphs(const std::vector<GraphFacts>& a, const std::vector<GraphFacts>& b, const NodeMatch& match,
                   const std::string& where, PlanDiff& diff);
// Fills connections. `match` is that of the first kind of host.
void compareConnections(const PlanFacts& a, const PlanFacts& b, const NodeMatch& match, PlanDiff& diff);
// Fills choices.
void compareChoices(const PlanFacts& a, const PlanFacts& b, PlanDiff& diff);

}  // namespace xylem::diff
