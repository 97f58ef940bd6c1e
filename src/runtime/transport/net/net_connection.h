#pragma once
// One rank's end of the connection to one peer over the network. Over a channel of their session the ranks
// exchange the handles of their queues; the queues' links are connections of the network.
// net_transport.h makes these objects.
//
//   NetConnection connection(request, peer, context);
//   while (!connection.advance()) ...
//   connection.sender(0).send(Protocol::kSimple, data, bytes);
//
// Setting up goes through four phases: kMeeting (open the session), kOffering (exchange the handles of the
// listeners), kJoining (connect the links), kReady.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/transport/net/link_monitor.h"
#include "runtime/transport/net/net_message.h"
#include "runtime/transport/net/net_queue.h"
#include "runtime/transport/net/pxn/proxy_ranks.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

// Shared by all connections of a rank.
struct NetContext {
  StepBytes stepBytes{};
  std::chrono::seconds silence{20};
  Network* network = nullptr;
  Engine* engine = nullptr;
  DeviceMemory* device = nullptr;  // of the rank's GPU; null: its device is a host device
  ProxyRanks* proxies = nullptr;   // the ranks that may send for this one; null: none
};

class NetConnection : public Connection {
 public:
  NetConnection(const ConnectionRequest& request, const Peer& peer, PeerSessions& sessions,
                std::shared_ptr<NetContext> context);
  // Waits, at most a few seconds, until the network has taken all steps, and closes the channel.
  ~NetConnection() override;

  bool advance() override;
  bool ready() const override { return phase_ == Phase::kReady; }
  std::string via(QueueUse use, int queue) const override;
  PeerNews news() override;
  int needsBeside() override;
  PeerSession* session() const override { return &channel_.session(); }
  void withdraw() noexcept override;

 private:
  // The network path between a device here and one at the peer, with the counters of the queues that use it.
  struct Path {
    int device;
    LinkMonitor monitor;
    std::vector<const std::atomic<std::uint64_t>*> moved;
  };
  enum class Phase { kMeeting, kOffering, kJoining, kReady };
  void offer();
  void monitorPaths(std::span<const sockets::WireAddress> addresses);
  bool pathSilent();
  bool readOffer();
  bool pairsQueues() const;
  NetEndOptions optionsOf(const QueueNic& nic, QueueUse use) const;
  std::vector<NetEndOptions> optionsOf(std::span<const QueueNic> nics, QueueUse use) const;
  NetSendQueue sendQueueOf(const NetEndOptions& end, const NetHandle& handle) const;
  NetQueueMemory memoryOf(const NetEndOptions& end) const;
  // The higher rank connects the link that two queues share; the lower rank gets its sender from that.
  bool waitsForReverseLink(std::size_t send) const { return send < paired_ && lower_; }
  bool join();
  void joinSend(std::size_t i);
  void joinReceive(std::size_t i);
  void begin(NetSendQueue& queue, std::unique_ptr<NetSender> link);
  void begin(NetReceiveQueue& queue, std::unique_ptr<NetReceiver> link);
  void makeEnds();
  PeerNews listen();
  PeerNews newsOfQueues();
  bool flushed(std::vector<pollfd>& fds);
  void flush() noexcept;

  const ConnectionRequest request_;
  const bool lower_;  // this rank is the lower one
  const std::shared_ptr<NetContext> context_;
  const std::vector<NetEndOptions> sendEnds_, receiveEnds_;
  // The addresses of the session, if it is over TCP: where it breaks, these paths need no monitor.
  std::optional<sockets::SocketAddress> own_, address_;
  std::atomic<Phase> phase_{Phase::kMeeting};
  SessionChannel channel_;

  std::mutex mutex_;     // guards setting up and what follows, as other threads may call news() meanwhile
  bool closed_ = false;  // the peer has closed the channel
  PeerNews last_;        // final once its state is not kThere

  NetPeerMemory memory_;
  std::vector<NetSendQueue> sends_;
  std::vector<NetReceiveQueue> receives_;
  std::vector<Path> paths_;
  std::size_t paired_ = 0;  // the first `paired_` sends share a link with the receive of the same number
};

}  // namespace xylem::transport
