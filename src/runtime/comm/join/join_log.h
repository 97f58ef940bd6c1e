#pragma once
// The lines that a communicator logs while it joins, in NCCL's words and order. Those about queues:
//
//   Channel 00/0 : 0[0] -> 1[1] via P2P/IPC                   logged by the sender
//   Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
//   Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0       over the network, both ends log
//   Channel 00/0 : 1[1] -> 2[0] [receive] via NET/Socket/0

#include <string>
#include <string_view>

#include "core/log.h"
#include "planner/connect/net_choice.h"
#include "planner/plan/plan.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/join/join_steps.h"
#include "runtime/comm/join/links.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/sockets/socket_address.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

// The call that makes the communicator.
enum class MadeBy { kInitRank, kSplit };

// Logs the version, once per process.
void logVersion(const Logger& log);
// Logs the interface through which this process reaches `root`, once per process. Logs nothing if none does:
// joining reports that.
void logBootstrap(const Logger& log, const Settings& settings, const sockets::SocketAddress& root);
// Logs the interfaces that carry data, once per process.
void logSockets(const Logger& log, const Settings& settings);
void logInitStart(const Logger& log, const void* comm, const Membership& membership,
                  std::uint64_t fingerprint, MadeBy by);
void logInitComplete(const Logger& log, const void* comm, const Membership& membership,
                     std::uint64_t fingerprint, std::uint64_t busId, MadeBy by, const InitTimer& timer);
// Whether the log shows any lines of plans: making them takes longer than writing them.
bool plansAreShown(const Logger& log);
// Logs the plan as this rank sees it, up to where ranks connect to each other.
void logPlan(const Logger& log, const void* comm, const plan::Plan& plan, const HostMap& host, int rank);
void logChunkSize(const Logger& log, const plan::Plan& plan, const Settings& settings);
// Logs the rest of the plan; `channels` are those that collectives use.
void logTuning(const Logger& log, const plan::Plan& plan, int rank, int channels);

struct QueueLine {
  connect::TransportKind kind = connect::TransportKind::kP2p;
  int channel = 0;
  int purpose = 0;  // 0 collectives, 1 send and receive
  int rank = 0;     // the rank that logs
  int peer = 0;
  transport::QueueUse use = transport::QueueUse::kSend;
  std::string via;
};
// Logs nothing for queues that NCCL does not log either.
void logQueue(const Logger& log, const plan::Plan& plan, const QueueLine& line);

// The connected queues of a rank's collectives.
struct ConnectedQueues {
  const plan::Plan& plan;
  int rank;
  const LinkScope& scope;
  const std::map<int, transport::Connection*>& connections;
  const std::map<int, connect::TransportKind>& kinds;  // by peer
};
// Logs the queues of rings, then those that trees need beside them, then those of PAT.
void logConnected(const Logger& log, const ConnectedQueues& queues);

}  // namespace xylem::comm
