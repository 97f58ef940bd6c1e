#pragma once
// The `shm` transport: queues in shared memory between ranks of one host, in one process or in several.
//
//   ShmTransport shm(rank, bufferBytes);
//
// Each pair of ranks has one local socket between them. Over it each receiver hands its sender the memory of
// the queues; afterwards it only says whether the other side is still there: the kernel closes it with the
// process.

#include "transport/transport.h"
#include "transport/unix_socket.h"

namespace xylem {

class ShmTransport : public Transport {
 public:
  // `bufferBytes`: of one queue, all slots together; rounded up to whole cache lines per slot. All ranks pass
  // the same.
  ShmTransport(int rank, std::size_t bufferBytes);

  std::string_view name() const override { return "SHM"; }
  Viability isViable(const Peer& self, const Peer& other) const override;
  TransportAddress listen() override;
  std::vector<std::unique_ptr<Connection>> connect(std::span<const ConnectionRequest> requests,
                                                   std::span<const Peer> peers,
                                                   const Waiting& waiting) override;

 private:
  int rank_;
  std::size_t slotBytes_;
  std::optional<LocalListener> listener_;
};

}  // namespace xylem
