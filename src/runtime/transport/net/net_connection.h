#pragma once
// One rank's end of what connects it with one peer over the network: a control connection, over which the two
// tell each other where their queues listen and later how they are, and the queues. The lower rank calls, the
// higher one answers; if that takes long, the higher one knocks (transport.h).

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/transport/net/net_doorway.h"
#include "runtime/transport/net/net_message.h"
#include "runtime/transport/net/net_queue.h"
#include "runtime/transport/net/rail_watch.h"
#include "runtime/transport/transport.h"
#include "runtime/sockets/caller.h"
#include "runtime/sockets/frames.h"

namespace xylem {

// What all connections of a rank have in common.
struct NetContext {
  int rank = -1;
  Secret secret{};
  StepBytes stepBytes{};
  std::chrono::seconds silence{20};
  Network* network = nullptr;
  Engine* engine = nullptr;
  std::optional<NetDoorway> doorway;
};

class NetConnection : public Connection {
 public:
  NetConnection(const ConnectionRequest& request, const WireAddress& address,
                std::shared_ptr<NetContext> context);
  // Hands what was sent to the network, for a few seconds at most, and says goodbye.
  ~NetConnection() override;

  bool advance() override;
  bool ready() const override { return phase_ == Phase::kReady; }
  std::string via(QueueUse use, int queue) const override;
  PeerNews news() override;
  bool ask() noexcept override;
  bool answered() override;
  void abort(int culprit, std::string_view text) noexcept override;

 private:
  // A way between a device here and one there, with the counters of the queues that take it.
  struct Rail {
    int device;
    RailWatch watch;
    std::vector<const std::atomic<std::uint64_t>*> moved;
  };
  enum class Phase { kMeeting, kOffering, kJoining, kReady };
  bool lower() const { return context_->rank < peer(); }
  void startCall();
  bool meet();
  FileDescriptor called();
  void knock();
  void offer();
  void tellPlaces();
  void watchRails(std::span<const WireAddress> places);
  bool railSilent();
  bool readOffer();
  bool pairsQueues() const;
  // Of queues that share a link, the higher rank calls.
  bool waitsForWayBack(std::size_t send) const { return send < paired_ && lower(); }
  bool join();
  void joinSend(std::size_t i);
  void joinReceive(std::size_t i);
  void begin(NetSendQueue& queue, std::unique_ptr<NetSender> link);
  void begin(NetReceiveQueue& queue, std::unique_ptr<NetReceiver> link);
  void makeEnds();
  void hear(const Frame& frame);
  PeerNews listen();
  PeerNews overdueNews();
  bool flushed(std::vector<pollfd>& fds);
  void flush() noexcept;
  void sayShortly(NetMessage::Kind kind);
  // False if there is no control connection.
  bool say(std::uint32_t kind, int culprit, std::string_view text) noexcept;

  ConnectionRequest request_;
  SocketAddress address_;
  std::shared_ptr<NetContext> context_;
  std::atomic<Phase> phase_{Phase::kMeeting};
  std::optional<Caller> caller_;
  const Deadline patience_ = Deadline::after(kUncalledPatience);
  FrameStream knock_;

  std::mutex controlMutex_;  // also of setting up; others may ask for news meanwhile
  FrameStream control_;
  std::atomic<bool> aborted_{false};
  bool bye_ = false;
  bool answered_ = false;
  PeerNews last_;

  NetPeerMemory memory_;
  std::vector<NetSendQueue> sends_;
  std::vector<NetReceiveQueue> receives_;
  std::vector<Rail> rails_;
  std::size_t paired_ = 0;  // so many sends share a link with the receive of the same number
};

}  // namespace xylem
