#include "soak/driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <thread>

#include "soak/environment.h"

namespace xylem::soak {
namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Driver::Actors Driver::membersOf(int comm) {
  Actors members;
  for (const auto& actor : actors_)
    if (actor->rankIn(comm) >= 0) members.push_back(actor.get());
  return members;
}

void Driver::run() {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    for (const auto& actor : actors_) actor->atStep(static_cast<int>(i));
    Random& random = actors_.front()->random();
    if (random.chance(15)) usleep(static_cast<useconds_t>(random.logUniform(3000)));
    perform(plan_.steps[i]);
  }
  synchronize();
}

void Driver::perform(const Step& step) {
  switch (step.kind) {
    case StepKind::kJoin:
      return join(step);
    case StepKind::kSplit:
      return split(step);
    case StepKind::kOperate:
      return operate(step);
    case StepKind::kSync:
      return synchronize();
    case StepKind::kEnd:
      return end(step);
    case StepKind::kAbort:
      return abort(step);
    case StepKind::kAbortJoin:
      return abortJoin(step);
  }
}

void Driver::synchronize() {
  for (const auto& actor : actors_) {
    actor->activate();
    actor->synchronize(false);
    actor->verify();
  }
}

void Driver::join(const Step& step) {
  std::vector<Call> calls;
  for (const int comm : step.comms) {
    const Actors members = membersOf(comm);
    if (members.empty()) continue;
    if (members.front()->rankIn(comm) == 0 ||
        plan_.comms[static_cast<std::size_t>(comm)].making == Making::kInitAll)
      board_.comms.fetch_add(1, std::memory_order_relaxed);
    if (plan_.comms[static_cast<std::size_t>(comm)].making == Making::kInitAll)
      joinAll(comm, members);
    else
      for (Actor* actor : members) calls.push_back({actor, comm});
  }
  joinByIds(calls, false);
}

// All of its ranks join in one call, so they have the same settings, host included.
void Driver::joinAll(int index, const Actors& members) {
  const Comm& comm = plan_.comms[static_cast<std::size_t>(index)];
  std::vector<ncclComm_t> handles(comm.members.size());
  members.front()->say("ncclCommInitAll", index);
  {
    const std::lock_guard lock(environmentMutex());
    members.front()->require(ncclCommInitAll(handles.data(), comm.size(), comm.members.data()),
                             "ncclCommInitAll", nullptr);
  }
  for (Actor* actor : members)
    actor->member(index).handle = handles[static_cast<std::size_t>(actor->rankIn(index))];
}

// The first rank makes the ids that all use.
void Driver::publishIds(int comm) {
  const std::lock_guard lock(environmentMutex());
  Ids& meeting = board_.meetings[static_cast<std::size_t>(comm)];
  for (int i = 0; i < plan_.comms[static_cast<std::size_t>(comm)].ids; ++i)
    actors_.front()->require(ncclGetUniqueId(&meeting.ids[static_cast<std::size_t>(i)]), "ncclGetUniqueId",
                             nullptr);
  meeting.phase.store(phase_, std::memory_order_release);
}

ncclResult_t Driver::joinOne(const Call& call) {
  const Comm& comm = plan_.comms[static_cast<std::size_t>(call.comm)];
  Ids& meeting = board_.meetings[static_cast<std::size_t>(call.comm)];
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = comm.blocking ? 1 : 0;
  if (comm.minCtas > 0) config.minCTAs = comm.minCtas;
  if (comm.maxCtas > 0) config.maxCTAs = comm.maxCtas;
  const int rank = call.actor->rankIn(call.comm);
  ncclComm_t* handle = &call.actor->member(call.comm).handle;
  if (comm.making == Making::kInitScalable)
    return ncclCommInitRankScalable(handle, comm.size(), rank, comm.ids, meeting.ids.data(), &config);
  if (comm.making == Making::kInitConfig)
    return ncclCommInitRankConfig(handle, comm.size(), meeting.ids[0], rank, &config);
  return ncclCommInitRank(handle, comm.size(), meeting.ids[0], rank);
}

// Sets the variable, which is read when the call is made, for the rank. Within a group, so that the call
// itself does not wait.
template <typename Work>
static ncclResult_t onHostOf(const PhasePlan& plan, const Actor& actor, Work&& work) {
  actor.activate();
  if (plan.hosts.empty()) return work();
  const std::lock_guard lock(environmentMutex());
  setenv("NCCL_HOSTID", plan.hosts[static_cast<std::size_t>(actor.rank())].c_str(), 1);
  return work();
}

void Driver::joinByIds(const std::vector<Call>& calls, bool mayFail) {
  if (calls.empty()) return;
  for (const Call& call : calls)
    if (call.actor->rankIn(call.comm) == 0) publishIds(call.comm);
  const bool grouped = calls.size() > 1 || !plan_.hosts.empty() || actors_.front()->random().chance(20);
  if (grouped) ncclGroupStart();
  for (const Call& call : calls) {
    call.actor->say("joining", call.comm);
    const Ids& meeting = board_.meetings[static_cast<std::size_t>(call.comm)];
    while (meeting.phase.load(std::memory_order_acquire) != phase_) usleep(100);
    const ncclResult_t result = onHostOf(plan_, *call.actor, [&] { return joinOne(call); });
    if (result != ncclInProgress) call.actor->require(result, "joining", nullptr);
  }
  if (grouped) {
    const ncclResult_t result = ncclGroupEnd();
    if (result != ncclInProgress) actors_.front()->require(result, "ncclGroupEnd of joining", nullptr);
  }
  for (const Call& call : calls)
    if (!mayFail)
      call.actor->require(Actor::settle(call.actor->member(call.comm).handle), "joining",
                          call.actor->member(call.comm).handle);
}

void Driver::split(const Step& step) {
  const Actors members = membersOf(step.comm);
  if (members.empty()) return;
  const bool grouped = members.size() > 1 || !plan_.hosts.empty() || members.front()->random().chance(20);
  if (grouped) ncclGroupStart();
  for (Actor* actor : members) {
    actor->say("ncclCommSplit", step.comm);
    const Part& part = step.parts[static_cast<std::size_t>(actor->rankIn(step.comm))];
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    bool configured = false;
    if (part.comm >= 0) {
      const Comm& made = plan_.comms[static_cast<std::size_t>(part.comm)];
      config.blocking = made.blocking ? 1 : 0;
      if (made.minCtas > 0) config.minCTAs = made.minCtas;
      if (made.maxCtas > 0) config.maxCTAs = made.maxCtas;
      configured = made.minCtas > 0 || made.maxCtas > 0;
      if (actor->rankIn(part.comm) == 0) board_.comms.fetch_add(1, std::memory_order_relaxed);
    }
    thread_local ncclComm_t none;
    ncclComm_t* child = part.comm >= 0 ? &actor->member(part.comm).handle : &none;
    const ncclResult_t result = onHostOf(plan_, *actor, [&] {
      return ncclCommSplit(actor->member(step.comm).handle, part.color, part.key, child,
                           configured ? &config : nullptr);
    });
    if (result != ncclInProgress) actor->require(result, "ncclCommSplit", nullptr);
  }
  if (grouped) {
    const ncclResult_t result = ncclGroupEnd();
    if (result != ncclInProgress) members.front()->require(result, "ncclGroupEnd of a split", nullptr);
  }
  for (Actor* actor : members) {
    const Part& part = step.parts[static_cast<std::size_t>(actor->rankIn(step.comm))];
    for (const int comm : {step.comm, part.comm})
      if (comm >= 0)
        actor->require(Actor::settle(actor->member(comm).handle), "ncclCommSplit",
                       actor->member(comm).handle);
  }
}

// The same order, as far as it matters: that of collectives, and of the messages from one rank to another.
std::vector<const Operation*> Driver::inOrderOf(Actor& actor,
                                                const std::vector<const Operation*>& operations) {
  std::vector<const Operation*> order;
  for (std::size_t start = 0; start < operations.size();) {
    std::size_t end = start;  // communicators stay in order
    while (end < operations.size() && operations[end]->comm == operations[start]->comm) ++end;
    std::vector<std::size_t> shuffled;
    bool toAll = false;  // these may be sends and receives
    for (std::size_t i = start; i < end; ++i) {
      shuffled.push_back(i);
      toAll = toAll || operations[i]->function == Function::kAlltoAll;
    }
    if (!toAll && actor.random().chance(50)) actor.random().shuffle(shuffled);
    std::map<std::array<int, 2>, std::vector<std::size_t>> alike;  // ascending
    const auto key = [&](std::size_t i) {
      const Operation& o = *operations[i];
      return o.function == Function::kTransfer ? std::array{o.root, o.receiver} : std::array{-1, -1};
    };
    for (std::size_t i = end; i > start; --i) alike[key(i - 1)].push_back(i - 1);
    for (const std::size_t i : shuffled) {
      order.push_back(operations[alike[key(i)].back()]);
      alike[key(i)].pop_back();
    }
    start = end;
  }
  return order;
}

bool Driver::issue(const std::vector<const Operation*>& operations, const Actors& actors, bool grouped,
                   bool tolerant) {
  std::vector<std::pair<Actor*, Actor::Pending*>> calls;
  for (Actor* actor : actors) {
    actor->activate();
    for (const Operation* operation : inOrderOf(*actor, operations)) {
      const int rank = actor->rankIn(operation->comm);
      if (rank < 0) continue;
      const bool transfer = operation->function == Function::kTransfer;
      if (!transfer) calls.emplace_back(actor, &actor->add(*operation, Side::kBoth));
      if (transfer && operation->root == rank)
        calls.emplace_back(actor, &actor->add(*operation, Side::kSend));
      if (transfer && operation->receiver == rank)
        calls.emplace_back(actor, &actor->add(*operation, Side::kReceive));
    }
  }
  if (calls.empty()) return true;
  ncclResult_t outcome = ncclSuccess;
  grouped = grouped || calls.size() > 1;
  if (grouped) ncclGroupStart();
  for (auto& [actor, pending] : calls) {
    actor->activate();
    actor->prepare(*pending);
    const ncclResult_t result = actor->call(*pending);
    if (result != ncclSuccess) outcome = result;
    if (!tolerant && result != ncclInProgress)
      actor->require(result, name(pending->issued.operation().function),
                     actor->member(pending->issued.operation().comm).handle);
  }
  if (grouped) outcome = ncclGroupEnd();
  for (auto& [actor, pending] : calls) {
    const ncclComm_t handle = actor->member(pending->issued.operation().comm).handle;
    if (!tolerant) actor->require(outcome, "ncclGroupEnd", handle);
    if (outcome == ncclInProgress) outcome = Actor::settle(handle);
    pending->dropped = outcome != ncclSuccess;
    actor->activate();
    actor->follow(*pending);
  }
  return outcome == ncclSuccess;
}

void Driver::operate(const Step& step) {
  Actors actors;
  for (const auto& actor : actors_) actors.push_back(actor.get());
  std::vector<const Operation*> operations;
  for (const Operation& operation : step.operations) operations.push_back(&operation);
  if (step.grouped) {
    issue(operations, actors, operations.size() > 1, false);
    return;
  }
  for (const Operation* operation : operations) issue({operation}, actors, false, false);
}

void Driver::end(const Step& step) {
  const Actors members = membersOf(step.comm);
  if (step.finalizes && !members.empty()) {
    const bool grouped = members.size() > 1;
    if (grouped) ncclGroupStart();
    for (Actor* actor : members) {
      actor->say("ncclCommFinalize", step.comm);
      const ncclResult_t result = ncclCommFinalize(actor->member(step.comm).handle);
      if (result != ncclInProgress) actor->require(result, "ncclCommFinalize", nullptr);
    }
    if (grouped) {
      const ncclResult_t result = ncclGroupEnd();
      if (result != ncclInProgress) members.front()->require(result, "ncclGroupEnd of ends", nullptr);
    }
  }
  for (Actor* actor : members) {
    actor->say("ncclCommDestroy", step.comm);
    const ncclComm_t handle = std::exchange(actor->member(step.comm).handle, nullptr);
    actor->require(Actor::settle(handle), "ending", handle);
    actor->require(ncclCommDestroy(handle), "ncclCommDestroy", nullptr);
  }
}

void Driver::abort(const Step& step) {
  const Actors members = membersOf(step.comm);
  if (members.empty()) return;
  // All ranks are past the calls before, so that these cannot fail; their work may still be under way.
  std::atomic<int>& arrived = board_.meetings[static_cast<std::size_t>(step.comm)].atAbort;
  arrived.fetch_add(static_cast<int>(members.size()));
  members.front()->say("waiting for those who abort", step.comm);
  while (arrived.load() < plan_.comms[static_cast<std::size_t>(step.comm)].size()) usleep(20);
  Actors aborting, others;
  for (Actor* actor : members)
    (contains(step.aborting, actor->rankIn(step.comm)) ? aborting : others).push_back(actor);
  std::vector<const Operation*> operations, withoutLast;
  for (const Operation& operation : step.operations) operations.push_back(&operation);
  withoutLast = operations;
  if (step.lastFails) withoutLast.pop_back();

  bool accepted = true;
  const auto issueAll = [&](const std::vector<const Operation*>& all, const Actors& actors, bool grouped) {
    if (grouped) return issue(all, actors, true, true);
    bool good = true;
    for (const Operation* operation : all) good = issue({operation}, actors, false, true) && good;
    return good;
  };
  // One thread must not issue operations for some of its ranks that wait for others of them.
  if (!(step.lastFails && step.grouped)) issueAll(withoutLast, aborting, step.grouped);
  accepted = issueAll(operations, others, step.grouped);

  for (Actor* actor : aborting) {
    actor->say("ncclCommAbort", step.comm);
    actor->activate();
    usleep(static_cast<useconds_t>(actor->random().logUniform(5000)));
    Member& member = actor->member(step.comm);
    const ncclComm_t handle = std::exchange(member.handle, nullptr);
    member.failed = true;
    board_.aborts.fetch_add(1, std::memory_order_relaxed);
    if (actor->random().chance(30)) {
      std::thread aborter([&] { actor->require(ncclCommAbort(handle), "ncclCommAbort", nullptr); });
      actor->synchronize(true);
      aborter.join();
    } else {
      actor->require(ncclCommAbort(handle), "ncclCommAbort", nullptr);
    }
  }
  for (Actor* actor : others) leaveAborted(*actor, step, step.lastFails && accepted);
  for (Actor* actor : members) {
    actor->activate();
    actor->synchronize(true);
    actor->verify();
  }
}

void Driver::leaveAborted(Actor& actor, const Step& step, bool mustFail) {
  actor.activate();
  const bool well = actor.synchronize(true);
  Member& member = actor.member(step.comm);
  ncclResult_t state = ncclSuccess;
  actor.require(ncclCommGetAsyncError(member.handle, &state), "ncclCommGetAsyncError", nullptr);
  member.failed = state != ncclSuccess;
  if (mustFail && (well || !member.failed))
    actor.reportWrong("an operation on communicator " + std::to_string(step.comm) +
                      " went well although a rank that it needs aborted instead");
  if (!well && !member.failed)
    actor.reportWrong("work on a stream failed, but communicator " + std::to_string(step.comm) + " did not");
  const ncclComm_t handle = std::exchange(member.handle, nullptr);
  actor.say("leaving what was aborted", step.comm);
  if (actor.random().chance(50))
    actor.require(ncclCommAbort(handle), "ncclCommAbort", nullptr);
  else
    actor.require(ncclCommDestroy(handle), "ncclCommDestroy", nullptr);
}

void Driver::abortJoin(const Step& step) {
  std::vector<Call> calls;
  for (Actor* actor : membersOf(step.comm)) calls.push_back({actor, step.comm});
  joinByIds(calls, true);
  const auto isCulprit = [&](const Call& call) {
    return contains(step.aborting, call.actor->rankIn(step.comm));
  };
  std::stable_partition(calls.begin(), calls.end(), isCulprit);
  for (const Call& call : calls) {
    call.actor->say("aborting while joining", step.comm);
    Member& member = call.actor->member(step.comm);
    if (isCulprit(call)) {
      usleep(static_cast<useconds_t>(call.actor->random().logUniform(30000)));
      board_.aborts.fetch_add(1, std::memory_order_relaxed);
    } else {
      ncclResult_t state = ncclInProgress;
      for (int i = 0; i < 200 && state == ncclInProgress; ++i) {
        call.actor->require(ncclCommGetAsyncError(member.handle, &state), "ncclCommGetAsyncError", nullptr);
        usleep(500);
      }
    }
    call.actor->require(ncclCommAbort(std::exchange(member.handle, nullptr)), "ncclCommAbort", nullptr);
  }
}

}  // namespace xylem::soak
