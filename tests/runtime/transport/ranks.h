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
#include "runtime/sockets/secret.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

struct Maker {
  std::string name;
  std::function<std::unique_ptr<Transport>(int rank, const sockets::Secret& secret, std::size_t bufferBytes)>
      make;
  // True if ranks on different hosts, or in different network namespaces, can connect.
  bool crossesHosts = false;
  // The most steps of 8 bytes that a writer can send to a reader that does not read.
  std::uint64_t maxAhead = kQueueSteps;
  // Steps of a test's traffic through one queue; fewer for slow transports.
  int steps = 300;
  // Called before ranks are started. Returns why this machine cannot run the transport; empty if it can.
  std::function<std::string()> prepare = [] { return std::string(); };
};
std::vector<Maker> allMakers();
// The maker with this name.
Maker makerOf(const std::string& name);
// The makers of transports between hosts: five network namespaces, and each rank is a process in one of
// them.
std::vector<Maker> hostMakers();

enum class Hosting { kThreads, kProcesses };
// The ways to host ranks that the test cases run with. Under sanitizers threads alone, as both run the same
// code.
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
  // With processes: the rank that is expected to be killed.
  int victim = -1;
};
// Runs the body as each rank. Fails the test for every rank that throws.
void runRanks(const Maker& maker, Hosting hosting, int ranks, const RankBody& body,
              const RankOptions& options = {});

// Throws an exception with the text `what` unless `good`.
void check(bool good, const std::string& what);
// Yields until `done` returns true. Throws an exception that names `what` after half a minute.
void await(const std::function<bool()>& done, const std::string& what);
PeerNews awaitNews(Connection& connection);

// A logger without output.
const Logger& silentLog();

// Bytes that depend on the seed.
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed);
// a == b, quickly even under a sanitizer.
bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b);

}  // namespace xylem::transport
