#include "runtime/comm/join/channel_log.h"

#include <algorithm>

namespace xylem {
namespace {

int deviceOf(const Plan& plan, int rank) {
  const Job& job = plan.job();
  return job.view(rank).system->gpu(job.gpuOf(rank)).dev;
}

std::size_t indexOf(const std::vector<int>& channels, int channel) {
  return static_cast<std::size_t>(std::lower_bound(channels.begin(), channels.end(), channel) -
                                  channels.begin());
}
bool contains(const std::vector<int>& channels, int channel) {
  return std::binary_search(channels.begin(), channels.end(), channel);
}

// Writes the lines of the queues of some algorithms, each queue once.
class QueueLines {
 public:
  QueueLines(const Logger& log, const ConnectedQueues& queues)
      : log_(log), queues_(queues), all_(planLinks(queues.plan, queues.rank, queues.scope)) {}

  // Nearest ranks first, as NCCL connects them.
  void write(bool trees, bool pat) {
    const LinkPlan now = planLinks(queues_.plan, queues_.rank, {queues_.scope.channels, trees, pat});
    const int ranks = queues_.plan.job().ranks();
    for (int distance = 1; distance < ranks; ++distance) {
      const int below = (queues_.rank + ranks - distance) % ranks;
      const int above = (queues_.rank + distance) % ranks;
      if (now.contains(below)) writePeer(below, QueueUse::kReceive, now.at(below).receives);
      if (now.contains(above)) writePeer(above, QueueUse::kSend, now.at(above).sends);
    }
    written_ = now;
  }

 private:
  static const std::vector<int>& channelsOf(const PeerChannels& peer, QueueUse use) {
    return use == QueueUse::kSend ? peer.sends : peer.receives;
  }

  void writePeer(int peer, QueueUse use, const std::vector<int>& channels) {
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

void logQueue(const Logger& log, const Plan& plan, const QueueLine& line) {
  const bool sends = line.use == QueueUse::kSend;
  const bool net = line.kind == TransportKind::kNet;
  if (!net && !sends) return;
  const int from = sends ? line.rank : line.peer, to = sends ? line.peer : line.rank;
  const char* use = !net ? "" : sends ? "[send] " : "[receive] ";
  // Of shared memory NCCL does not say what it is for.
  const std::string purpose = line.kind == TransportKind::kShm ? "" : fmt::format("/{}", line.purpose);
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

}  // namespace xylem
