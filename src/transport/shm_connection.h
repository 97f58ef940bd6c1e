#pragma once
// One rank's end of the shared memory between it and one peer: the socket, and the memory of both directions.

#include <cstdint>

#include "transport/shared_memory.h"
#include "transport/transport.h"

namespace xylem {

// What travels over the socket of a connection; one layout for all.
struct ShmMessage {
  enum Kind : std::uint32_t { kHello = 1, kMemory = 2, kBye = 3, kAbort = 4 };
  std::uint32_t kind = 0;
  std::int32_t rank = -1;       // kHello: the sender; kAbort: the culprit
  std::uint32_t queues = 0;     // kMemory
  std::uint32_t textBytes = 0;  // kAbort
  std::uint64_t slotBytes = 0;  // kMemory
  char text[232] = {};
};
static_assert(sizeof(ShmMessage) == 256);

// The size of memory for `queues` queues.
std::size_t shmBytes(int queues, std::size_t slotBytes);

class ShmConnection : public Connection {
 public:
  ShmConnection(const ConnectionRequest& request, FileDescriptor socket, std::size_t slotBytes);
  // Says goodbye.
  ~ShmConnection() override;

  // Setting up: sends the memory this side receives into, then takes what comes until there is nothing left
  // to do.
  void offerMemory();
  bool complete();
  int socket() const { return socket_.get(); }

  PeerNews news() override;
  void abort(int culprit, std::string_view text) noexcept override;

 private:
  void acceptMemory(const ShmMessage& message, FileDescriptor fd);

  ConnectionRequest request_;
  FileDescriptor socket_;
  std::size_t slotBytes_;
  SharedMemory incoming_;
  SharedMemory outgoing_;
  bool complete_ = false;
  bool aborted_ = false;
  PeerNews last_;
};

}  // namespace xylem
