#pragma once
// One rank's end of the connection to one peer over the network: a control connection, and the queues. Over
// the control connection the ranks exchange the handles of their queues, and later report goodbyes and
// aborts. The lower rank connects, the higher one accepts; if the connection does not come soon, the higher
// rank opens a status connection (transport.h). net_transport.h makes these objects.
//
//   NetConnection connection(request, peer.net, context);
//   while (!connection.advance()) ...
//   connection.sender(0).send(Protocol::kSimple, data, bytes);
//
// Setting up goes through four phases: kMeeting (make the control connection), kOffering (exchange the
// handles of the listeners), kJoining (connect the links), kReady.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/sockets/accept_thread.h"
#include "runtime/sockets/connector.h"
#include "runtime/sockets/frames.h"
#include "runtime/sockets/pending_connections.h"
#include "runtime/transport/net/link_monitor.h"
#include "runtime/transport/net/net_message.h"
#include "runtime/transport/net/net_queue.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

// Accepts the control connections of other ranks. Each is kept until this rank, too, connects to that peer
// for the same purpose.
//
//   NetControlListener listener(address, secret, log);
//   FileDescriptor socket = listener.take(peer, purpose);  // invalid if there is none yet: try again
class NetControlListener {
 public:
  NetControlListener(const sockets::SocketAddress& address, const sockets::Secret& secret, const Logger& log)
      : acceptor_(address, secret, log, "NET") {}

  const sockets::SocketAddress& address() const { return acceptor_.address(); }
  FileDescriptor take(int rank, std::uint32_t purpose);
  // Tells all ranks whose connections are not taken, now or later, that this rank gives up.
  void abort(int failedRank, std::string_view text);

 private:
  std::mutex mutex_;  // several threads may connect at once
  sockets::Acceptor acceptor_;
  sockets::BackgroundAccept watched_{acceptor_.pendingConnections()};
  std::map<std::pair<int, std::uint32_t>, FileDescriptor> waiting_;
};

// Shared by all connections of a rank.
struct NetContext {
  int rank = -1;
  sockets::Secret secret{};
  StepBytes stepBytes{};
  std::chrono::seconds silence{20};
  Network* network = nullptr;
  Engine* engine = nullptr;
  std::optional<NetControlListener> listener;
};

class NetConnection : public Connection {
 public:
  NetConnection(const ConnectionRequest& request, const sockets::WireAddress& address,
                std::shared_ptr<NetContext> context);
  // Waits, at most a few seconds, until the network has taken all steps, and says goodbye.
  ~NetConnection() override;

  bool advance() override;
  bool ready() const override { return phase_ == Phase::kReady; }
  std::string via(QueueUse use, int queue) const override;
  PeerNews news() override;
  bool ask() noexcept override;
  bool answered() override;
  void abort(int failedRank, std::string_view text) noexcept override;

 private:
  // The network path between a device here and one at the peer, with the counters of the queues that use it.
  struct Path {
    int device;
    LinkMonitor monitor;
    std::vector<const std::atomic<std::uint64_t>*> moved;
  };
  enum class Phase { kMeeting, kOffering, kJoining, kReady };
  bool lower() const { return context_->rank < peer(); }
  void startCall();
  bool meet();
  FileDescriptor called();
  void checkByStatusConnection();
  void offer();
  void offerAddresses();
  void monitorPaths(std::span<const sockets::WireAddress> addresses);
  bool pathSilent();
  bool readOffer();
  bool pairsQueues() const;
  // The higher rank connects the link that two queues share; the lower rank gets its sender from that.
  bool waitsForReverseLink(std::size_t send) const { return send < paired_ && lower(); }
  bool join();
  void joinSend(std::size_t i);
  void joinReceive(std::size_t i);
  void begin(NetSendQueue& queue, std::unique_ptr<NetSender> link);
  void begin(NetReceiveQueue& queue, std::unique_ptr<NetReceiver> link);
  void makeEnds();
  void hear(const sockets::Frame& frame);
  PeerNews listen();
  PeerNews newsOfQueues();
  bool flushed(std::vector<pollfd>& fds);
  void flush() noexcept;
  void queueMessage(NetMessage::Kind kind);
  // Returns false if there is no control connection.
  bool say(std::uint32_t kind, int failedRank, std::string_view text) noexcept;

  ConnectionRequest request_;
  sockets::SocketAddress address_;
  std::shared_ptr<NetContext> context_;
  std::atomic<Phase> phase_{Phase::kMeeting};
  std::optional<sockets::Connector> connector_;
  const Deadline patience_ = Deadline::after(kStatusConnectDelay);
  sockets::FrameStream statusConnection_;

  std::mutex controlMutex_;  // guards control_ and setting up, as other threads may call news() meanwhile
  sockets::FrameStream control_;
  std::atomic<bool> aborted_{false};
  bool bye_ = false;       // the peer has said goodbye
  bool answered_ = false;  // since the last ask()
  PeerNews last_;          // final once its state is not kThere

  NetPeerMemory memory_;
  std::vector<NetSendQueue> sends_;
  std::vector<NetReceiveQueue> receives_;
  std::vector<Path> paths_;
  std::size_t paired_ = 0;  // the first `paired_` sends share a link with the receive of the same number
};

}  // namespace xylem::transport
