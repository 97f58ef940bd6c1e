#include "soak/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "soak/environment.h"
#include "soak/random.h"

namespace xylem::soak {
namespace {

class Planner {
 public:
  Planner(Random random, const JobShape& shape) : random_(random), shape_(shape) {}

  PhasePlan plan() {
    Environment environment = chooseEnvironment(random_, shape_.ranks);
    plan_.variables = std::move(environment.variables);
    plan_.hosts = std::move(environment.hosts);
    mostBytes_ = environment.mostBytes;
    blocking_ = random_.chance(75);
    chooseDrivers();
    join();
    for (int steps = random_.between(4, 12); steps > 0; --steps) addStep();
    plan_.steps.push_back({.kind = StepKind::kSync});
    while (!live_.empty()) end();
    return std::move(plan_);
  }

 private:
  // Mostly each rank has a thread; otherwise some threads serve several ranks of one process.
  void chooseDrivers() {
    const int together = random_.chance(75) ? 1 : random_.pick({2, 3, shape_.ranksPerProcess});
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const int first = rank / shape_.ranksPerProcess * shape_.ranksPerProcess;
      plan_.driver.push_back(first + (rank - first) / together * together);
    }
  }

  void addStep() {
    const int dice = random_.below(100);
    if (live_.empty() || (dice < 8 && hasSlotsFor(2)))
      join();
    else if (dice < 18 && hasSlotsFor(shape_.ranks))
      split();
    else if (dice < 26)
      plan_.steps.push_back({.kind = StepKind::kSync});
    else if (dice < 32 && live_.size() > 1)
      end();
    else if (dice < 39)
      abort();
    else if (dice < 42 && hasSlotsFor(1))
      abortJoin();
    else
      operate();
  }

  bool hasSlotsFor(int comms) const { return static_cast<int>(plan_.comms.size()) + comms <= kMaxComms; }

  int pickLive() { return live_[static_cast<std::size_t>(random_.below(static_cast<int>(live_.size())))]; }

  std::vector<int> someRanks() {
    std::vector<int> ranks(static_cast<std::size_t>(shape_.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (random_.chance(60)) random_.shuffle(ranks);
    if (!plan_.comms.empty() && random_.chance(60))
      ranks.resize(static_cast<std::size_t>(random_.between(1, shape_.ranks)));
    return ranks;
  }

  bool oneThreadDrives(const std::vector<int>& ranks) const {
    const auto driver = [&](int rank) { return plan_.driver[static_cast<std::size_t>(rank)]; };
    return std::all_of(ranks.begin(), ranks.end(), [&](int r) { return driver(r) == driver(ranks.front()); });
  }

  int addComm(Comm comm) {
    plan_.comms.push_back(std::move(comm));
    return static_cast<int>(plan_.comms.size()) - 1;
  }

  int newComm(Making making) {
    Comm comm;
    comm.members = someRanks();
    comm.blocking = blocking_;
    comm.making = making;
    if (making == Making::kInitRank && oneThreadDrives(comm.members) && random_.chance(60))
      comm.making = Making::kInitAll;
    if (comm.making == Making::kInitScalable) comm.ids = random_.between(1, std::min(kMaxIds, comm.size()));
    if (comm.making != Making::kInitRank && comm.making != Making::kInitAll) chooseCtas(comm);
    return addComm(std::move(comm));
  }

  void chooseCtas(Comm& comm) {
    if (random_.chance(40)) comm.minCtas = random_.between(1, 4);
    if (random_.chance(40)) comm.maxCtas = std::max(1, comm.minCtas) + random_.below(3);
  }

  void join() {
    Step step{.kind = StepKind::kJoin};
    for (int comms = random_.pick({1, 1, 1, 2}); comms > 0; --comms) {
      const Making making = blocking_ ? random_.pick({Making::kInitRank, Making::kInitRank,
                                                      Making::kInitConfig, Making::kInitScalable})
                                      : random_.pick({Making::kInitConfig, Making::kInitScalable});
      step.comms.push_back(newComm(making));
      live_.push_back(step.comms.back());
      // These create communicators by themselves; they are in no group with other calls.
      if (plan_.comms.back().making == Making::kInitAll) break;
    }
    plan_.steps.push_back(std::move(step));
  }

  void split() {
    Step step{.kind = StepKind::kSplit, .comm = pickLive()};
    const Comm parent = plan_.comms[static_cast<std::size_t>(step.comm)];
    const int colors = random_.between(1, std::min(3, parent.size()));
    std::map<int, std::vector<std::pair<int, int>>> ranksOfColor;  // key and rank of the parent
    for (int rank = 0; rank < parent.size(); ++rank) {
      const Part part{.color = random_.chance(12) ? NCCL_SPLIT_NOCOLOR : random_.below(colors) * 7,
                      .key = random_.between(-2, 2)};
      if (part.color >= 0) ranksOfColor[part.color].emplace_back(part.key, rank);
      step.parts.push_back(part);
    }
    for (auto& [color, ranks] : ranksOfColor) {
      std::sort(ranks.begin(), ranks.end());
      Comm comm{.making = Making::kSplit, .blocking = blocking_};
      if (random_.chance(30)) chooseCtas(comm);
      for (const auto& [key, rank] : ranks)
        comm.members.push_back(parent.members[static_cast<std::size_t>(rank)]);
      const int index = addComm(std::move(comm));
      live_.push_back(index);
      for (const auto& [key, rank] : ranks) step.parts[static_cast<std::size_t>(rank)].comm = index;
    }
    plan_.steps.push_back(std::move(step));
  }

  void end() {
    const int comm = pickLive();
    std::erase(live_, comm);
    plan_.steps.push_back({.kind = StepKind::kEnd, .comm = comm, .finalizes = random_.chance(40)});
  }

  void operate() {
    Step step{.kind = StepKind::kOperate};
    step.grouped = random_.chance(70);
    for (int comms = random_.pick({1, 1, 1, 2}); comms > 0; --comms) addOperations(step, pickLive());
    plan_.steps.push_back(std::move(step));
  }

  // Sends and receives need a group.
  void addOperations(Step& step, int comm) {
    for (int n = random_.pick({1, 1, 2, 3, 6}); n > 0; --n) {
      if (random_.chance(65)) {
        step.operations.push_back(collective(comm));
      } else {
        addTransfers(step, comm);
        step.grouped = true;
      }
    }
  }

  std::size_t someCount(ncclDataType_t type, std::size_t blocks) {
    return random_.chance(4) ? 0 : random_.logUniform(mostBytes_ / bytesOf(type) / blocks + 1);
  }

  Operation collective(int comm) {
    constexpr Function kFunctions[] = {Function::kReduce,        Function::kBcast,     Function::kBroadcast,
                                       Function::kAllReduce,     Function::kAllReduce, Function::kAllReduce,
                                       Function::kReduceScatter, Function::kAllGather, Function::kAlltoAll};
    const int ranks = plan_.comms[static_cast<std::size_t>(comm)].size();
    Operation operation{.comm = comm,
                        .function = kFunctions[random_.below(static_cast<int>(std::size(kFunctions)))]};
    operation.type = static_cast<ncclDataType_t>(random_.below(ncclNumTypes));
    const Function f = operation.function;
    const bool reduces = f == Function::kReduce || f == Function::kAllReduce || f == Function::kReduceScatter;
    operation.op = reduces ? static_cast<Combine>(random_.below(kCombines)) : Combine::kCopy;
    const bool blocks =
        f == Function::kReduceScatter || f == Function::kAllGather || f == Function::kAlltoAll;
    operation.count = someCount(operation.type, blocks ? static_cast<std::size_t>(ranks) : 1);
    operation.root = random_.below(ranks);
    operation.seed = random_.next();
    return operation;
  }

  void addTransfer(Step& step, int comm, int from, int to) {
    Operation operation{.comm = comm, .function = Function::kTransfer, .op = Combine::kCopy};
    operation.type = static_cast<ncclDataType_t>(random_.below(ncclNumTypes));
    operation.count = someCount(operation.type, 2);
    operation.root = from;
    operation.receiver = to;
    operation.seed = random_.next();
    step.operations.push_back(operation);
  }

  void addTransfers(Step& step, int comm) {
    const int n = plan_.comms[static_cast<std::size_t>(comm)].size();
    const int shift = random_.below(n), hub = random_.below(n);
    const int pattern = random_.below(5);
    for (int i = 0; i < n; ++i) {
      if (pattern == 0) addTransfer(step, comm, i, (i + shift) % n);
      if (pattern == 1) addTransfer(step, comm, hub, i);
      if (pattern == 2) addTransfer(step, comm, i, hub);
      if (pattern == 3) addTransfer(step, comm, random_.below(n), random_.below(n));
      for (int j = 0; pattern == 4 && j < n; ++j) addTransfer(step, comm, i, j);
    }
  }

  std::vector<int> chooseAborting(int comm) {
    const int n = plan_.comms[static_cast<std::size_t>(comm)].size();
    std::vector<int> aborting{random_.below(n)};
    if (random_.chance(20)) aborting.push_back(random_.below(n));
    return aborting;
  }

  void abort() {
    Step step{.kind = StepKind::kAbort, .comm = pickLive()};
    step.aborting = chooseAborting(step.comm);
    step.grouped = random_.chance(50);
    if (random_.chance(80)) addOperations(step, step.comm);
    if (random_.chance(70)) {
      step.lastFails = true;
      Operation last = collective(step.comm);
      last.function = Function::kAllReduce;
      last.op = Combine::kSum;
      last.count = std::max<std::size_t>(last.count, 1);
      step.operations.push_back(last);
      // A rank that leaves out one operation of a group leaves out all of it.
      step.grouped = step.grouped || step.operations.size() == 1;
    }
    std::erase(live_, step.comm);
    plan_.steps.push_back(std::move(step));
  }

  void abortJoin() {
    const bool blocking = std::exchange(blocking_, false);
    const int comm = newComm(random_.pick({Making::kInitConfig, Making::kInitScalable}));
    blocking_ = blocking;
    plan_.steps.push_back({.kind = StepKind::kAbortJoin, .comm = comm, .aborting = chooseAborting(comm)});
  }

  Random random_;
  const JobShape shape_;
  PhasePlan plan_;
  std::vector<int> live_;
  std::size_t mostBytes_ = 0;
  bool blocking_ = true;
};

}  // namespace

const char* name(Function function) {
  constexpr const char* kNames[] = {"Reduce",        "Bcast",     "Broadcast", "AllReduce",
                                    "ReduceScatter", "AllGather", "AlltoAll",  "Send/Recv"};
  return kNames[static_cast<int>(function)];
}

std::string describe(const Operation& o) {
  constexpr const char* kTypes[] = {"int8",    "uint8",   "int32",   "uint32",   "int64",      "uint64",
                                    "float16", "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2"};
  constexpr const char* kOps[] = {"sum", "prod", "max", "min", "avg", "premulsum", "copy"};
  std::string text = fmt::format("{} of {} {}, {}, communicator {}, ", name(o.function), o.count,
                                 kTypes[o.type], kOps[static_cast<int>(o.op)], o.comm);
  return text + (o.function == Function::kTransfer ? fmt::format("{} to {}", o.root, o.receiver)
                                                   : fmt::format("root {}", o.root));
}

const char* name(StepKind kind) {
  constexpr const char* kNames[] = {"join", "split", "operations",         "sync",
                                    "end",  "abort", "abort while joining"};
  return kNames[static_cast<int>(kind)];
}

int Comm::rankOf(int rankOfJob) const {
  const auto found = std::find(members.begin(), members.end(), rankOfJob);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

PhasePlan planPhase(std::uint64_t seed, int phase, const JobShape& shape) {
  return Planner(Random(seed, static_cast<std::uint64_t>(phase), ~std::uint64_t{0}), shape).plan();
}

}  // namespace xylem::soak
