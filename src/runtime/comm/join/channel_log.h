#pragma once
// The lines about queues between ranks, in NCCL's words and order:
//
//   Channel 00/0 : 0[0] -> 1[1] via P2P/IPC                   who sends says it
//   Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
//   Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0       over the network, both do
//   Channel 00/0 : 1[1] -> 2[0] [receive] via NET/Socket/0

#include <string>

#include "runtime/comm/issue/links.h"
#include "planner/connect/net_choice.h"
#include "core/log.h"
#include "planner/plan/plan.h"
#include "runtime/transport/transport.h"

namespace xylem {

struct QueueLine {
  TransportKind kind = TransportKind::kP2p;
  int channel = 0;
  int purpose = 0;  // 0 collectives, 1 send and receive
  int rank = 0;     // whose line it is
  int peer = 0;
  QueueUse use = QueueUse::kSend;
  std::string via;
};
// Nothing where NCCL says nothing.
void logQueue(const Logger& log, const Plan& plan, const QueueLine& line);

// What a rank has for collectives, all connected.
struct ConnectedQueues {
  const Plan& plan;
  int rank;
  const LinkScope& scope;
  const std::map<int, Connection*>& connections;
  const std::map<int, TransportKind>& kinds;  // by peer
};
// Rings, then what trees need beside them, then PAT.
void logConnected(const Logger& log, const ConnectedQueues& queues);

}  // namespace xylem
