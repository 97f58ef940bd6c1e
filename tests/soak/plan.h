#pragma once
// The plan of one phase of the soak. Every rank computes the same plan from the seed; a rank decides alone
// about things that concern only itself (streams, alignments, delays).
//
//   const PhasePlan plan = planPhase(seed, phase, {.ranks = 8, .ranksPerProcess = 2});

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "soak/values.h"

namespace xylem::soak {

constexpr int kMaxRanks = 8;
constexpr int kMaxComms = 24;  // in a phase
constexpr int kMaxIds = 3;     // of a communicator

struct JobShape {
  int ranks = kMaxRanks;
  int ranksPerProcess = kMaxRanks;
};

enum class Function {
  kReduce,
  kBcast,
  kBroadcast,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAlltoAll,
  kTransfer
};
const char* name(Function function);

struct Operation {
  int comm = 0;
  Function function = Function::kAllReduce;
  ncclDataType_t type = ncclFloat32;
  Combine op = Combine::kSum;
  std::size_t count = 0;
  int root = 0;      // transfers: who sends
  int receiver = 0;  // of transfers
  std::uint64_t seed = 0;
};

// Such as `AllReduce of 3 int8, sum, communicator 0`.
std::string describe(const Operation& operation);

enum class Making { kInitRank, kInitConfig, kInitScalable, kInitAll, kSplit };

struct Comm {
  Making making = Making::kInitRank;
  std::vector<int> members;  // ranks of the job, in the order of the communicator's
  int ids = 1;
  bool blocking = true;
  int minCtas = 0, maxCtas = 0;  // 0: not asked for

  int size() const { return static_cast<int>(members.size()); }
  // Its rank in this communicator, or -1.
  int rankOf(int rankOfJob) const;
};

enum class StepKind {
  kJoin,       // makes `comms`
  kSplit,      // splits `comm`: each member gets `parts`[its rank]
  kOperate,    // runs `operations`, in one group if `grouped`
  kSync,       // waits for everything, and checks it
  kEnd,        // finalizes or destroys `comm`, perhaps while operations are under way
  kAbort,      // `aborting` ranks abort `comm` while `operations` are under way
  kAbortJoin,  // joins `comm`, but `aborting` ranks abort meanwhile
};
const char* name(StepKind kind);

struct Part {
  int comm = -1;  // the communicator that the member gets, or none
  int color = -1;
  int key = 0;
};

struct Step {
  StepKind kind = StepKind::kSync;
  int comm = -1;
  std::vector<int> comms;
  std::vector<Part> parts;
  std::vector<Operation> operations;
  bool grouped = true;
  bool finalizes = false;
  std::vector<int> aborting;  // ranks of the communicator
  // kAbort: the last operation needs all ranks, and the aborting ranks do not take part in it, so that it has
  // to fail.
  bool lastFails = false;
};

struct PhasePlan {
  std::vector<std::pair<std::string, std::string>> variables;  // as in Environment
  // The host that each rank pretends to be on; empty: that of the machine.
  std::vector<std::string> hosts;
  std::vector<int> driver;  // by rank: the rank whose thread does its work
  std::vector<Comm> comms;
  std::vector<Step> steps;
};

PhasePlan planPhase(std::uint64_t seed, int phase, const JobShape& shape);

}  // namespace xylem::soak
