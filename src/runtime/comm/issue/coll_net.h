#pragma once
// This rank's part in a network that reduces (CollNet): as head of chains, the queues to it.
//
//   CollNet collnet(plan, rank, channels, network, std::move(queues));
//   const std::string reason = collnet.connect(*bootstrap, {deadline, look});    // all ranks; empty: it
//   works links = Links(plan, rank, scope, wanted, connections, collnet.ends());
//
// The members of a channel are the heads of all nodes. They tell each other where they listen, each connects,
// and then all ranks tell each other how that went: where it failed for one, nobody uses it.

#include <memory>
#include <string>
#include <vector>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/issue/links.h"
#include "runtime/transport/collnet/coll_connection.h"

namespace xylem {

struct CollNetBasics {
  std::shared_ptr<CollNetwork> network;
  int channels = 1;
  StepBytes stepBytes{};
  std::map<int, Connection*> connections;  // by peer: those to the heads beside this rank among them
  Engine* engine = nullptr;
};

class CollNet {
 public:
  CollNet(const Plan& plan, int rank, CollNetBasics basics);

  // Together with all other ranks. Why it does not work, or nothing. Throws if a rank fails altogether.
  std::string connect(Bootstrap& bootstrap, const Waiting& waiting);
  // By channel.
  std::vector<NetworkEnds> ends() const;
  // Null on channels on which this rank is no head.
  std::span<const std::unique_ptr<CollConnection>> connections() const { return connections_; }

 private:
  void connectChannel(Bootstrap& bootstrap, const Waiting& waiting, int channel);
  std::unique_ptr<CollListener> listen(int device);
  CollEndpoint endpoint(int channel, int device) const;

  const Plan& plan_;
  const int rank_;
  CollNetBasics basics_;
  std::vector<std::unique_ptr<CollConnection>> connections_;  // by channel
  std::string reason_;                                        // why it does not work on this rank
};

}  // namespace xylem
