#include "ranks.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "core/deadline.h"
#include "core/file_descriptor.h"
#include "runtime/libfabric/fabric_network.h"
#include "runtime/plugins/plugin_network.h"
#include "runtime/plugins/test_net.h"
#include "runtime/transport/local/local_transport.h"
#include "runtime/transport/net_rank.h"
#include "support/effort.h"
#include "support/namespaces.h"
#include "support/patience.h"
#include "support/sanitizers.h"
#include "support/shared_memory_files.h"

namespace xylem::transport {
namespace {

constexpr std::chrono::seconds kPatience{30};

Peer peerOf(int rank, std::uint64_t process) {
  Peer peer;
  peer.rank = rank;
  peer.hostHash = 1;
  peer.networkNamespace = 1;
  peer.pidNamespace = 1;
  peer.pid = getpid();
  peer.process = process;
  return peer;
}

// Runs the body. Returns the text of its failure; empty if it succeeded.
std::string outcome(const RankBody& body, TestRank& rank) {
  try {
    body(rank);
    return {};
  } catch (const std::exception& error) {
    return *error.what() != 0 ? error.what() : "an exception without a text";
  }
}

void report(int rank, const std::string& text) {
  if (!text.empty()) ADD_FAILURE() << "rank " << rank << ": " << text;
}

void runThreads(const Maker& maker, int ranks, const RankBody& body, const RankOptions& options) {
  const sockets::Secret secret = sockets::randomSecret();
  std::vector<TestRank> all(static_cast<std::size_t>(ranks));
  std::vector<Peer> peers;
  for (int r = 0; r < ranks; ++r) {
    TestRank& rank = all[static_cast<std::size_t>(r)];
    rank.rank = r;
    rank.hosting = Hosting::kThreads;
    rank.transport = maker.make(r, secret, options.bufferBytes);
    peers.push_back(peerOf(r, 1));
    rank.transport->announce(peers.back());
  }
  std::vector<std::string> outcomes(all.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].peers = peers;
    threads.emplace_back([&, r] { outcomes[r] = outcome(body, all[r]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t r = 0; r < all.size(); ++r) report(static_cast<int>(r), outcomes[r]);
}

[[noreturn]] void beRank(int r, int ranks, int parent, const sockets::Secret& secret, const Maker& maker,
                         const RankBody& body, const RankOptions& options) {
  alarm(120);  // ends a rank that hangs
  std::string text;
  try {
    TestRank rank;
    rank.rank = r;
    rank.hosting = Hosting::kProcesses;
    rank.transport = maker.make(r, secret, options.bufferBytes);
    Peer self = peerOf(r, static_cast<std::uint64_t>(getpid()));
    rank.transport->announce(self);
    rank.peers.resize(static_cast<std::size_t>(ranks));
    const std::size_t bytes = sizeof(Peer) * static_cast<std::size_t>(ranks);
    check(write(parent, &self, sizeof self) == sizeof self, "cannot say who I am");
    check(recv(parent, rank.peers.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes),
          "cannot learn who the others are");
    text = outcome(body, rank);
  } catch (const std::exception& error) {
    text = error.what();
  }
  if (!text.empty() && write(parent, text.data(), text.size()) < 0) _exit(2);
  _exit(text.empty() ? 0 : 1);
}

void runProcesses(const Maker& maker, int ranks, const RankBody& body, const RankOptions& options) {
  const sockets::Secret secret = sockets::randomSecret();
  std::vector<FileDescriptor> sockets;
  std::vector<pid_t> processes;
  for (int r = 0; r < ranks; ++r) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      close(pair[0]);
      sockets.clear();
      beRank(r, ranks, pair[1], secret, maker, body, options);
    }
    close(pair[1]);
    sockets.emplace_back(pair[0]);
    processes.push_back(process);
  }
  std::vector<Peer> peers(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < peers.size(); ++r)
    EXPECT_EQ(recv(sockets[r].get(), &peers[r], sizeof(Peer), MSG_WAITALL),
              static_cast<ssize_t>(sizeof(Peer)));
  for (const FileDescriptor& socket : sockets)
    EXPECT_GT(send(socket.get(), peers.data(), sizeof(Peer) * peers.size(), MSG_NOSIGNAL), 0);
  for (int r = 0; r < ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    char text[4096];
    const ssize_t n = recv(sockets[i].get(), text, sizeof text, MSG_WAITALL);
    if (n > 0) report(r, std::string(text, static_cast<std::size_t>(n)));
    int status = 0;
    EXPECT_EQ(waitpid(processes[i], &status, 0), processes[i]);
    if (r == options.victim) testing::removeFabricFiles(processes[i]);
    if (r == options.victim)
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << r << " ended with " << status;
  }
}

// The network transport together with the objects that it needs, which outlive it.
struct NetRankOwner {
  std::unique_ptr<NetRank> net;
};
class OwningNetTransport : private NetRankOwner, public Transport {
 public:
  explicit OwningNetTransport(std::unique_ptr<NetRank> rank)
      : NetRankOwner{std::move(rank)}, Transport(net->sessions) {}
  std::string_view name() const override { return net->transport.name(); }
  Viability isViable(const Peer& self, const Peer& other) const override {
    return net->transport.isViable(self, other);
  }
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override {
    return net->transport.open(request, peer);
  }
};

std::unique_ptr<Transport> netTransport(int rank, const NetSetup& setup) {
  return std::make_unique<OwningNetTransport>(std::make_unique<NetRank>(rank, setup));
}

// The same for a rank whose every queue is carried by the proxy thread of another rank of its host (PXN), which is hidden.
class ProxiedNetTransport : private NetRankOwner, public Transport {
 public:
  ProxiedNetTransport(int rank, const NetSetup& setup)
      : NetRankOwner{std::make_unique<NetRank>(rank, setup)},
        Transport(net->sessions),
        hidden_(rank + kHidden, setup) {}
  std::string_view name() const override { return net->transport.name(); }
  Viability isViable(const Peer& self, const Peer& other) const override {
    return net->transport.isViable(self, other);
  }
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override {
    if (net->ranks.empty()) meetHidden();
    ConnectionRequest proxied = request;
    for (QueueNic& nic : proxied.sends) nic.proxy = hidden_.self.rank;
    return net->transport.open(proxied, peer);
  }

 private:
  static constexpr int kHidden = 1000;
  void meetHidden() {
    net->self = net->sessions->self();  // as the test has announced it
    hidden_.self.hostHash = net->self.hostHash;
    hidden_.self.networkNamespace = net->self.networkNamespace;
    hidden_.transport.announce(hidden_.self);
    makeProxies(*net, hidden_);
  }
  NetRank hidden_;
};

std::shared_ptr<PeerSessions> localSessions(int rank, const sockets::Secret& secret) {
  return std::make_shared<PeerSessions>(SessionOptions{.rank = rank, .secret = secret}, silentLog());
}

// Far more steps of 8 bytes than the system's buffers can hold.
constexpr std::uint64_t kMaxInSockets = 1 << 24;

Maker netMaker(const std::string& name, const std::string& address, const SocketChoice& sockets) {
  return {
      .name = name,
      .make = [=](int rank, const sockets::Secret& secret, std::size_t bytes) -> std::unique_ptr<Transport> {
        NetSetup setup;
        setup.address = address;
        setup.sockets = sockets;
        setup.queueBytes = bytes;
        setup.secret = secret;
        return netTransport(rank, setup);
      },
      .crossesHosts = true,
      .maxAhead = kMaxInSockets};
}

Maker proxiedMaker() {
  return {
      .name = "NETThroughProxy",
      .make = [](int rank, const sockets::Secret& secret, std::size_t bytes) -> std::unique_ptr<Transport> {
        NetSetup setup;
        setup.queueBytes = bytes;
        setup.secret = secret;
        setup.local = true;
        return std::make_unique<ProxiedNetTransport>(rank, setup);
      },
      .crossesHosts = true,
      .maxAhead = kMaxInSockets,
      .steps = 100};
}

// The network transport over another network than sockets.
Maker networkMaker(const std::string& name, const std::function<std::unique_ptr<Network>()>& network) {
  return {
      .name = name,
      .make = [=](int rank, const sockets::Secret& secret, std::size_t bytes) -> std::unique_ptr<Transport> {
        NetSetup setup;
        setup.queueBytes = bytes;
        setup.secret = secret;
        setup.network = network;
        return netTransport(rank, setup);
      },
      .crossesHosts = true,
      .maxAhead = kMaxInSockets};
}

// `write`: a value of XYLEM_FABRIC_WRITE.
[[maybe_unused]] Maker fabricMaker(const std::string& name, const std::string& provider, int write) {
  const libfabric::FabricOptions options{.providers = {provider},
                                         .interfaces = {{"lo", sockets::SocketAddress::parse("127.0.0.1:0")}},
                                         .write = write};
  Maker maker = networkMaker(name, [options] {
    return std::make_unique<libfabric::FabricNetwork>(libfabric::findFabricDevices(options));
  });
  maker.maxAhead = 2 * kQueueSteps;
  // Several times the slots of a queue, so that all parts of a link are reused.
  maker.steps = 100;
  maker.prepare = [options]() -> std::string {
    try {
      libfabric::findFabricDevices(options);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  return maker;
}

Maker pluginMaker(int version) {
  return networkMaker("NETPluginV" + std::to_string(version), [version]() -> std::unique_ptr<Network> {
    static const auto log = std::make_shared<const Logger>(Settings());
    return std::make_unique<plugins::PluginNetwork>(
        std::make_shared<const plugins::NetPlugin>(plugins::testNetLibrary(version, *log), log));
  });
}

std::optional<Namespaces>& hosts() {
  static std::optional<Namespaces> hosts;
  return hosts;
}

}  // namespace

std::vector<Hosting> hostingsTried() {
  if (testing::byEffort({.quick = 0, .normal = !testing::kSanitized, .night = 1}) == 0)
    return {Hosting::kThreads};
  return {Hosting::kThreads, Hosting::kProcesses};
}

std::vector<Maker> hostMakers() {
  return {
      {.name = "NET",
       .make = [](int rank, const sockets::Secret& secret, std::size_t bytes) -> std::unique_ptr<Transport> {
         hosts()->enter(rank);
         return netMaker("", Namespaces::address(rank), {0, 1}).make(rank, secret, bytes);
       },
       .crossesHosts = true,
       .maxAhead = kMaxInSockets,
       .prepare =
           [] {
             const std::string why = Namespaces::unavailable();
             if (why.empty() && !hosts()) hosts().emplace(5);
             return why;
           }}};
}

const Logger& silentLog() {
  static const Logger log{Settings()};
  return log;
}

// libfabric is not compiled with sanitizers, so the thread sanitizer does not see how it orders accesses.
std::vector<Maker> fabricMakers() {
  if (testing::kThreadSanitizer) return {};
  if (testing::kAddressSanitizer) return {fabricMaker("FabricTcp", "tcp", 0)};
  return {fabricMaker("FabricTcp", "tcp", 0), fabricMaker("FabricTcpWrites", "tcp", 1),
          fabricMaker("FabricShm", "shm", 0)};
}

Maker p2pMaker(const char* name, const CopyChoices& choices) {
  return {
      .name = name,
      .make = [=](int rank, const sockets::Secret& secret, std::size_t bytes) -> std::unique_ptr<Transport> {
        return std::make_unique<P2pTransport>(localSessions(rank, secret), bytes, choices);
      }};
}

std::vector<Maker> allMakers() {
  std::vector<Maker> makers{
      netMaker("NET", "127.0.0.1", {0, 1}),
      netMaker("NETv6FourSockets", "::1", {2, 2}),
      pluginMaker(10),
      proxiedMaker(),
      p2pMaker("P2P", {}),
      p2pMaker("P2PCrossMemory",
               CopyChoices::fromText("read_from=65536 read_up_to=1000000 stream_message=100000")),
      p2pMaker("P2PWideSlots", CopyChoices::fromText("cycle=2000000")),
      p2pMaker("P2PFarCores", CopyChoices::fromText("cycle=2000000 far=1 stream_far=1")),
      {.name = "SHM",
       .make = [](int rank, const sockets::Secret& secret, std::size_t bytes) -> std::unique_ptr<Transport> {
         return std::make_unique<ShmTransport>(localSessions(rank, secret), bytes);
       }},
  };
  for (Maker& maker : fabricMakers()) makers.push_back(std::move(maker));
  return makers;
}

Maker makerOf(const std::string& name) {
  for (Maker& maker : allMakers())
    if (maker.name == name) return std::move(maker);
  throw std::invalid_argument("no transport " + name);
}

std::vector<std::unique_ptr<Connection>> TestRank::connect(const std::vector<ConnectionRequest>& requests,
                                                           std::chrono::milliseconds patience,
                                                           std::function<void()> look) {
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<Connection*> pointers;
  for (const ConnectionRequest& request : requests) {
    connections.push_back(open(request));
    pointers.push_back(connections.back().get());
  }
  connectAll(pointers, {Deadline::after(patience), std::move(look)});
  return connections;
}

void runRanks(const Maker& maker, Hosting hosting, int ranks, const RankBody& body,
              const RankOptions& options) {
  if (hosting == Hosting::kThreads)
    runThreads(maker, ranks, body, options);
  else
    runProcesses(maker, ranks, body, options);
}

void check(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}

void await(const std::function<bool()>& done, const std::string& what) {
  const Deadline deadline = Deadline::after(kPatience);
  for (testing::Patience patience; !done(); patience.pause())
    check(!deadline.passed(), "waited in vain for " + what);
}

PeerNews awaitNews(Connection& connection) {
  PeerNews news;
  await([&] { return (news = connection.news()).state != PeerState::kThere; }, "news");
  return news;
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
  // Whole words: under a sanitizer, writing byte by byte would take longer than moving the bytes.
  for (std::size_t at = 0; at < bytes; at += sizeof(x)) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t mixed = x ^ (x >> 29);
    std::memcpy(&data[at], &mixed, std::min(sizeof(mixed), bytes - at));
  }
  return data;
}

bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace xylem::transport
