#pragma once
// What the transports of one host, P2P and SHM, have in common: all but whether a peer may be told where data
// lies instead of being sent a copy.

#include <memory>

#include "runtime/transport/local/local_acceptor.h"
#include "runtime/transport/transport.h"

namespace xylem {

class LocalTransport : public Transport {
 public:
  Viability isViable(const Peer& self, const Peer& other) const override;
  void announce(Peer& self) override;
  std::unique_ptr<Connection> open(const ConnectionRequest& request, const Peer& peer) override;
  void abort(int culprit, std::string_view text) override { acceptor_->abort(culprit, text); }

 protected:
  LocalTransport(LocalKind kind, std::shared_ptr<LocalAcceptor> acceptor, std::size_t bufferBytes,
                 std::size_t crossMemoryBytes)
      : kind_(kind),
        acceptor_(std::move(acceptor)),
        stepBytes_(stepBytesFor(bufferBytes)),
        crossMemoryBytes_(crossMemoryBytes) {}

 private:
  const LocalKind kind_;
  const std::shared_ptr<LocalAcceptor> acceptor_;
  const StepBytes stepBytes_;
  const std::size_t crossMemoryBytes_;
  Peer self_;
};

}  // namespace xylem
