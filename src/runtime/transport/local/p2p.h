#pragma once
// The transport `P2P`: ranks of one host that reach into each other's memory. What is shared is not copied:
// in one process the peer is given its address; memory of ncclMemAlloc and cudaMalloc is mapped by the peer;
// other memory is copied through shared memory, or read through the kernel.
//
//   auto acceptor = std::make_shared<LocalAcceptor>(rank, secret, log);     // one for P2P and SHM
//   P2pTransport p2p(acceptor, bufferBytes, 0);

#include "runtime/transport/local/local_transport.h"

namespace xylem {

class P2pTransport : public LocalTransport {
 public:
  // `bufferBytes`: of one queue's slots together (NCCL_BUFFSIZE); all ranks pass the same.
  // `crossMemoryBytes`: pieces of so many bytes are read through the kernel where that is permitted
  // (XYLEM_CMA_BYTES); 0: none.
  P2pTransport(std::shared_ptr<LocalAcceptor> acceptor, std::size_t bufferBytes, std::size_t crossMemoryBytes)
      : LocalTransport(LocalKind::kP2p, std::move(acceptor), bufferBytes, crossMemoryBytes) {}
  std::string_view name() const override { return "P2P"; }
};

}  // namespace xylem
