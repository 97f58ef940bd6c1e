#include "runtime/comm/join/join_log.h"

#include <nccl.h>

#include <algorithm>
#include <atomic>

#include "planner/plan/plan_log.h"
#include "planner/tuning/p2p_split.h"
#include "runtime/sockets/interfaces.h"

namespace xylem::comm {
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

void logBootstrap(const Logger& log, const Settings& settings, const sockets::SocketAddress& root) {
  const bool says = log.enabled(LogLevel::kInfo, Subsystem::kBootstrap);
  if (!says && !log.enabled(LogLevel::kWarn, Subsystem::kAll)) return;
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  try {
    const std::vector<sockets::Interface> all = sockets::listInterfaces();
    const sockets::Interface chosen = sockets::chooseInterface(all, settings, &root);
    if (const std::string warning = sockets::loopbackWarning(all, settings, chosen); !warning.empty())
      log.warn("{}", warning);
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
  for (const sockets::Interface& device : sockets::matchingInterfaces(sockets::listInterfaces(), settings))
    devices += fmt::format(" [{}]{}:{}", number++, device.name, device.address.logText());
  log.info(Subsystem::kInit, "NET/Socket : {}{}", devices.empty() ? "No interface found" : "Using", devices);
  if (!devices.empty()) log.info(Subsystem::kInit, "Using network Socket");
}

void logInitStart(const Logger& log, const void* comm, const Membership& m, std::uint64_t fingerprint,
                  MadeBy by) {
  // The bus id becomes known only after the ranks have agreed on who has which device.
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
  if (const std::string longest = timer.longestStep(); !longest.empty())
    log.info(Subsystem::kInit, "Init timings - longest step of rank {}: {}", m.rank, longest);
}

void logPlan(const Logger& log, const void* comm, const plan::Plan& plan, const HostMap& host, int rank) {
  // ncclGetVersion() tells the version of the interface, which is another one.
  log.info(Subsystem::kInit, "Planned by the rules of NCCL {}", rules::versionText(plan.nccl->version));
  if (plansAreShown(log))
    for (const LogLine& line : plan::hostLog(plan, rank)) log.write(line);
  log.info(Subsystem::kInit, "comm {} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0", comm,
           rank, plan.job().ranks(), host.hosts, host.ranks.size(), host.localRank);
  if (plansAreShown(log))
    for (const LogLine& line : plan::connectLog(plan, rank)) log.write(line);
}

void logChunkSize(const Logger& log, const plan::Plan& plan, const Settings& settings) {
  const tuning::P2pJob job = tuning::P2pJob::from(settings, plan.job().ranks(), plan.job().hosts(),
                                                  plan.allNvlink, plan.tuning.front().input);
  log.info(Subsystem::kInit, "P2P Chunksize set to {}", job.stepBytes);
}

void logTuning(const Logger& log, const plan::Plan& plan, int rank, int channels) {
  if (plansAreShown(log))
    for (const LogLine& line : plan::tuningLog(plan, rank)) log.write(line);
  if (channels < plan.connections.nChannels())
    log.info(Subsystem::kInit, "{} of {} coll channels in use: one per core of each rank", channels,
             plan.connections.nChannels());
}

namespace {

int deviceOf(const plan::Plan& plan, int rank) {
  const connect::Job& job = plan.job();
  return job.view(rank).system->gpu(job.gpuOf(rank)).dev;
}

std::size_t indexOf(const std::vector<int>& channels, int channel) {
  return static_cast<std::size_t>(std::lower_bound(channels.begin(), channels.end(), channel) -
                                  channels.begin());
}
bool contains(const std::vector<int>& channels, int channel) {
  return std::binary_search(channels.begin(), channels.end(), channel);
}

// Logs the queues of some algorithms, each queue once.
class QueueLines {
 public:
  QueueLines(const Logger& log, const ConnectedQueues& queues)
      : log_(log), queues_(queues), all_(planLinks(queues.plan, queues.rank, queues.scope)) {}

  // In the order in which NCCL connects them: nearest ranks first.
  void write(bool trees, bool pat) {
    const LinkPlan now = planLinks(queues_.plan, queues_.rank,
                                   {.channels = queues_.scope.channels, .trees = trees, .pat = pat});
    const int ranks = queues_.plan.job().ranks();
    for (int distance = 1; distance < ranks; ++distance) {
      const int below = (queues_.rank + ranks - distance) % ranks;
      const int above = (queues_.rank + distance) % ranks;
      if (now.contains(below)) writePeer(below, transport::QueueUse::kReceive, now.at(below).receives);
      if (now.contains(above)) writePeer(above, transport::QueueUse::kSend, now.at(above).sends);
    }
    written_ = now;
  }

 private:
  static const std::vector<int>& channelsOf(const PeerChannels& peer, transport::QueueUse use) {
    return use == transport::QueueUse::kSend ? peer.sends : peer.receives;
  }

  void writePeer(int peer, transport::QueueUse use, const std::vector<int>& channels) {
    for (const int channel : channels) {
      const auto before = written_.find(peer);
      if (before != written_.end() && contains(channelsOf(before->second, use), channel)) continue;
      const auto index = static_cast<int>(indexOf(channelsOf(all_.at(peer), use), channel));
      logQueue(log_, queues_.plan,
               {.kind = queues_.kinds.at(peer),
                .channel = channel,
                .purpose = 0,
                .rank = queues_.rank,
                .peer = peer,
                .use = use,
                .via = queues_.connections.at(peer)->via(use, index)});
    }
  }

  const Logger& log_;
  const ConnectedQueues& queues_;
  const LinkPlan all_;
  LinkPlan written_;
};

}  // namespace

void logQueue(const Logger& log, const plan::Plan& plan, const QueueLine& line) {
  const bool sends = line.use == transport::QueueUse::kSend;
  const bool net = line.kind == connect::TransportKind::kNet;
  if (!net && !sends) return;
  const int from = sends ? line.rank : line.peer, to = sends ? line.peer : line.rank;
  const char* use = !net ? "" : sends ? "[send] " : "[receive] ";
  // For shared memory, NCCL's line does not tell the purpose.
  const std::string purpose =
      line.kind == connect::TransportKind::kShm ? "" : fmt::format("/{}", line.purpose);
  log.info(Subsystem::kInit, "Channel {:02}{} : {}[{}] -> {}[{}] {}via {}", line.channel, purpose, from,
           deviceOf(plan, from), to, deviceOf(plan, to), use, line.via);
}

void logConnected(const Logger& log, const ConnectedQueues& queues) {
  if (queues.plan.job().ranks() == 1 || !log.enabled(LogLevel::kInfo, Subsystem::kInit)) return;
  QueueLines lines(log, queues);
  lines.write(false, false);
  log.info(Subsystem::kInit, "Connected all rings");
  if (queues.scope.trees) {
    lines.write(true, false);
    log.info(Subsystem::kInit, "Connected all trees");
  }
  if (queues.scope.pat) {
    lines.write(queues.scope.trees, true);
    log.info(Subsystem::kInit, "Connected binomial trees");
  }
}

}  // namespace xylem::comm
