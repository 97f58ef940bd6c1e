#pragma once
// Ranks for tests of transports: as threads of this process, or as processes of their own.
//
//   runRanks(maker, Hosting::kProcesses, 2, [](TestRank& rank) {
//     auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
//     check(connections[0]->peer() == 1 - rank.rank, "peer");
//   });
//
// A rank fails by throwing; the test then fails with its message. A new transport joins the common tests by
// adding its maker to allMakers().

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "runtime/transport/transport.h"
#include "runtime/sockets/secret.h"

namespace xylem {

struct Maker {
  std::string name;
  std::function<std::unique_ptr<Transport>(int rank, const Secret& secret, std::size_t bufferBytes)> make;
  // Whether ranks on different hosts, and in different network namespaces, can connect.
  bool crossesHosts = false;
  // Steps of 8 bytes that a writer gets ahead of a reader who does not read, at most.
  std::uint64_t mostAhead = kQueueSteps;
  // Of the traffic through a queue: fewer where each takes its time.
  int steps = 300;
  // Before ranks are started; says why this machine cannot run them, or nothing.
  std::function<std::string()> prepare = [] { return std::string(); };
};
std::vector<Maker> allMakers();
// The one of that name.
Maker makerOf(const std::string& name);
// Each rank on a host of its own, of five; for processes.
std::vector<Maker> hostMakers();

enum class Hosting { kThreads, kProcesses };
// What a case that both can do is run with. Sanitizers see the same code in both.
std::vector<Hosting> hostingsTried();

struct TestRank {
  int rank = -1;
  Hosting hosting = Hosting::kThreads;
  std::unique_ptr<Transport> transport;
  std::vector<Peer> peers;

  std::unique_ptr<Connection> open(const ConnectionRequest& request) {
    return transport->open(request, peers[static_cast<std::size_t>(request.peer)]);
  }
  std::vector<std::unique_ptr<Connection>> connect(
      const std::vector<ConnectionRequest>& requests,
      std::chrono::milliseconds patience = std::chrono::seconds(30), std::function<void()> look = {});
};
using RankBody = std::function<void(TestRank&)>;

struct RankOptions {
  std::size_t bufferBytes = 64 << 10;
  // Processes: this rank is expected to be killed.
  int victim = -1;
};
// Fails the test for every rank that throws.
void runRanks(const Maker& maker, Hosting hosting, int ranks, const RankBody& body,
              const RankOptions& options = {});

// Throws, with `what`, unless `good`.
void check(bool good, const std::string& what);
// Yields until `done`; throws, with `what`, after half a minute.
void await(const std::function<bool()>& done, const std::string& what);
PeerNews awaitNews(Connection& connection);

// For what needs a log that nobody reads.
const Logger& silentLog();

// Bytes that depend on the seed.
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed);
// a == b, quickly even under a sanitizer.
bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b);

}  // namespace xylem
