#pragma once
// This rank's part in a network that reduces (CollNet): as head of chains or stars it has queues to and from the
// network. The members of a channel are the heads of all nodes. They exchange their addresses, each connects,
// and then all ranks exchange the outcome: if it failed for any rank, all ranks go without CollNet.
//
//   CollNet collnet(plan, rank, scope, {network, channels, stepBytes, connections, &engine});
//   const std::string reason = collnet.connect(bootstrap, {deadline, look});   // on all ranks
//   if (reason.empty()) links = Links(plan, rank, scope, wanted, connections, collnet.ends());

#include <memory>
#include <string>
#include <vector>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/join/links.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/transport/collnet/coll_connection.h"
#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

struct CollJoinRequest {
  std::shared_ptr<transport::CollNetwork> network;
  std::unique_ptr<transport::CollListener> listener;
  std::vector<transport::NetHandle> handles;  // addresses of all members
  int self = 0;
};

// Connects in a thread of its own, as a network may wait for the other members as long as it likes. Throws
// what the network throws, what `waiting.look` throws, or ncclRemoteError at the deadline. A plugin that does
// not return by then stays behind in its thread with all that it was given; what it connects later is closed.
std::unique_ptr<transport::CollLink> joinWithin(CollJoinRequest meeting, const transport::Waiting& waiting);

struct CollNetBasics {
  std::shared_ptr<transport::CollNetwork> network;
  int channels = 1;
  transport::StepBytes stepBytes{};
  std::map<int, transport::Connection*> connections;  // by peer; includes those to the neighbouring heads
  transport::Engine* engine = nullptr;
};

class CollNet {
 public:
  CollNet(const plan::Plan& plan, int rank, const LinkScope& scope, CollNetBasics basics);

  // All ranks call it at the same time. Returns why CollNet does not work, or nothing if it does. Throws if
  // joining has failed on any rank.
  std::string connect(bootstrap::Bootstrap& bootstrap, const transport::Waiting& waiting);
  // By channel.
  std::vector<ChannelNetwork> ends() const;

  struct Joined {
    int channel = 0;
    Algorithm algorithm = Algorithm::kCollnetChain;
    std::unique_ptr<transport::CollConnection> connection;
  };
  std::span<const Joined> connections() const { return connections_; }

 private:
  void connectGroup(bootstrap::Bootstrap& bootstrap, const transport::Waiting& waiting, int channel,
                    const NetworkGroup& group);
  std::unique_ptr<transport::CollListener> listen(int device);
  transport::CollEndpoint endpoint(const NetworkGroup& group, int device) const;

  const plan::Plan& plan_;
  const int rank_;
  const LinkScope scope_;
  CollNetBasics basics_;
  std::vector<Joined> connections_;
  std::string reason_;  // why it does not work on this rank
};

// Why there is no CollNet although some ranks have a network that reduces; empty if no rank has one, or all
// have.
std::string missingCollNet(std::span<const PeerInfo> peers);

}  // namespace xylem::comm
