#pragma once
// How ranks of one host get at each other's memory. In one process an address is enough. Otherwise memory of
// ShareableMemory is mapped, and any other is copied through the queue, or
// read through the kernel where that is asked for and permitted.

#include <sys/types.h>

#include "runtime/transport/local/local_link.h"
#include "runtime/transport/local/peer_memory.h"

namespace xylem {

class LocalPeerMemory : public PeerMemory {
 public:
  struct Reach {
    bool sameProcess = false;
    std::size_t crossMemoryBytes =
        0;               // the peer reads our memory through the kernel, in pieces of so many; 0: it does not
    pid_t process = -1;  // the peer's; for reading its
  };
  LocalPeerMemory(LocalLink& link, const Reach& reach) : link_(link), reach_(reach) {}

  bool locate(const std::byte* data, std::size_t bytes, StepNote& note) override;
  const std::byte* reach(const StepNote& note) override;
  void read(const StepNote& note, std::byte* out) override;
  std::byte* at(const BufferPlace& place, std::size_t bytes) override;
  bool admit(std::uint32_t region) override { return reach_.sameProcess || link_.sendRegion(region); }

 private:
  [[noreturn]] void throwUnreachable(const char* what, std::size_t bytes, int error) const;

  LocalLink& link_;
  const Reach reach_;
};

}  // namespace xylem
