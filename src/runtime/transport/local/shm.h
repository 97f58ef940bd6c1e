#pragma once
// The transport `SHM`: ranks of one host that see nothing of each other but the queues between them. All data
// is copied through their slots.
//
//   ShmTransport shm(acceptor, bufferBytes);     // see p2p.h

#include "runtime/transport/local/local_transport.h"

namespace xylem {

class ShmTransport : public LocalTransport {
 public:
  ShmTransport(std::shared_ptr<LocalAcceptor> acceptor, std::size_t bufferBytes)
      : LocalTransport(LocalKind::kShm, std::move(acceptor), bufferBytes, 0) {}
  std::string_view name() const override { return "SHM"; }
};

}  // namespace xylem
