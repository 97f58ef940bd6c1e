#include "runtime/comm/comm_log.h"

#include <nccl.h>

#include <atomic>

#include "planner/plan/plan_log.h"
#include "planner/tuning/p2p_split.h"
#include "runtime/sockets/interfaces.h"

namespace xylem {
namespace {

const char* callOf(MadeBy by) { return by == MadeBy::kSplit ? "ncclCommSplit" : "ncclCommInitRank"; }

}  // namespace

bool plansAreShown(const Logger& log) {
  return log.enabled(LogLevel::kInfo, Subsystem::kInit) || log.enabled(LogLevel::kInfo, Subsystem::kGraph) ||
         log.enabled(LogLevel::kInfo, Subsystem::kTuning);
}

void logVersion(const Logger& log) {
  static std::atomic<bool> done{false};
  if (!done.exchange(true))
    log.version(fmt::format("NCCL version {}.{}.{}+xylem", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH));
}

void logBootstrap(const Logger& log, const Settings& settings, const SocketAddress& root) {
  if (!log.enabled(LogLevel::kInfo, Subsystem::kBootstrap)) return;
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  try {
    const Interface chosen = chooseInterface(listInterfaces(), settings, &root);
    log.info(Subsystem::kBootstrap, "Bootstrap : Using {}:{}", chosen.name, chosen.address.logText());
  } catch (const Error&) {
    return;
  }
}

void logSockets(const Logger& log, const Settings& settings) {
  if (!log.enabled(LogLevel::kInfo, Subsystem::kInit)) return;
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  std::string devices;
  int number = 0;
  for (const Interface& device : matchingInterfaces(listInterfaces(), settings))
    devices += fmt::format(" [{}]{}:{}", number++, device.name, device.address.logText());
  log.info(Subsystem::kInit, "NET/Socket : {}{}", devices.empty() ? "No interface found" : "Using", devices);
  if (!devices.empty()) log.info(Subsystem::kInit, "Using network Socket");
}

void logInitStart(const Logger& log, const void* comm, const Membership& m, std::uint64_t fingerprint,
                  MadeBy by) {
  // The bus id is only known once the ranks have agreed on who has which device.
  log.info(Subsystem::kInit,
           "{} comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId 0 commId {:#x} - Init START", callOf(by),
           comm, m.rank, m.ranks, m.device, m.device, fingerprint);
}

void logInitComplete(const Logger& log, const void* comm, const Membership& m, std::uint64_t fingerprint,
                     std::uint64_t busId, MadeBy by, const InitTimer& timer) {
  log.info(Subsystem::kInit,
           "{} comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId {:#x} - Init COMPLETE",
           callOf(by), comm, m.rank, m.ranks, m.device, m.device, busId, fingerprint);
  log.info(Subsystem::kInit, "Init timings - {}: rank {} nranks {} {}", callOf(by), m.rank, m.ranks,
           timer.text());
}

void logPlan(const Logger& log, const void* comm, const Plan& plan, const Neighbourhood& host, int rank) {
  if (plansAreShown(log))
    for (const LogLine& line : hostLog(plan, rank)) log.write(line);
  log.info(Subsystem::kInit, "comm {} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0", comm,
           rank, plan.job().ranks(), host.hosts, host.ranks.size(), host.localRank);
  if (plansAreShown(log))
    for (const LogLine& line : connectLog(plan, rank)) log.write(line);
}

void logChunkSize(const Logger& log, const Plan& plan, const Settings& settings) {
  const P2pJob job = P2pJob::from(settings, plan.job().ranks(), plan.job().hosts(), plan.allNvlink);
  log.info(Subsystem::kInit, "P2P Chunksize set to {}", job.stepBytes);
}

void logTuning(const Logger& log, const Plan& plan, int rank, int channels) {
  if (plansAreShown(log))
    for (const LogLine& line : tuningLog(plan, rank)) log.write(line);
  if (channels < plan.connections.nChannels())
    log.info(Subsystem::kInit, "{} of {} coll channels in use: one per core of each rank", channels,
             plan.connections.nChannels());
}

}  // namespace xylem
