#pragma once
// Connects to a network that reduces, which may wait for the other members for as long as it likes: in a
// thread of its own, so that this rank does not.
//
//   auto link = joinWithin({network, std::move(listener), handles, self}, {Deadline::after(timeout), look});
//
// A plugin that does not come back is left behind in its thread, with all that it was given; if it ever does,
// what it has made is closed.

#include <memory>
#include <vector>

#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/transport.h"

namespace xylem {

struct CollMeeting {
  std::shared_ptr<CollNetwork> network;
  std::unique_ptr<CollListener> listener;
  std::vector<NetHandle> handles;  // of all members
  int self = 0;
};

// Throws what the network throws, what `look` throws, or ncclRemoteError when the time is over.
std::unique_ptr<CollLink> joinWithin(CollMeeting meeting, const Waiting& waiting);

}  // namespace xylem
