#include "runtime/transport/net/socket_layout.h"

namespace xylem {
namespace {

constexpr int kFastMbits = 50000;
constexpr int kFasterMbits = 100000;

}  // namespace

SocketLayout chooseLayout(const SocketChoice& choice, int speed) {
  int threads = choice.threads;
  int perThread = choice.socketsPerThread;
  if (threads < 0) threads = speed >= kFasterMbits ? 2 : speed >= kFastMbits ? 1 : 0;
  threads = std::min(threads, kMostSocketThreads);
  if (perThread <= 0) perThread = choice.threads < 0 && threads > 0 ? 2 : 1;
  const int groups = std::max(threads, 1);
  perThread = std::min(perThread, kMostSockets / groups);
  SocketLayout layout;
  layout.sockets = groups * perThread;
  layout.helpers = std::min(threads, layout.sockets - 1);
  return layout;
}

}  // namespace xylem
