#pragma once
// The ring of queues over which ranks compare their calls in checked mode (runtime/comm/issue/call_check.h).
//
//   CheckLinks links(plan, choice, transports, rank);      // starts to connect
//   connectAll(links.connections(), waiting);
//   links.next().send(...)

#include <memory>
#include <vector>

#include "runtime/comm/join/transports.h"
#include "planner/plan/plan.h"

namespace xylem {

class CheckLinks {
 public:
  CheckLinks(const Plan& plan, const NetChoice& choice, const Transports& transports, int rank);

  std::vector<Connection*> connections() const;
  SendEnd& next() { return connections_.front()->sender(0); }
  RecvEnd& previous() { return connections_.back()->receiver(0); }

 private:
  // To the next rank, then from the previous one; between two ranks they are the same.
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace xylem
