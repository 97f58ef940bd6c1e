#pragma once
// What travels over the socket between two ranks of a host once each knows that the other belongs to the job;
// one layout for all.

#include <cstddef>
#include <cstdint>

namespace xylem {

struct LocalMessage {
  enum Kind : std::uint32_t {
    kMemory = 1,  // the queues this side receives on; with their descriptor if the peer is another process
    kReach = 2,   // whether this side can read the peer's memory
    kRegion = 3,  // a region of ShareableMemory, with its descriptor
    kBye = 4,
    kAbort = 5,
  };
  std::uint32_t kind = 0;
  std::int32_t rank = -1;       // kAbort: the culprit
  std::uint32_t receives = 0;   // kMemory: queues this side receives on
  std::uint32_t sends = 0;      // kMemory: queues it wants to send on
  std::uint32_t textBytes = 0;  // kAbort
  std::uint32_t region = 0;     // kRegion: its number
  std::uint32_t readable = 0;   // kReach
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;          // kRegion: its size
  std::uint64_t handle = 0;         // kMemory: in the process's own table, if the peer is in it
  std::uint64_t stepBytes[3] = {};  // kMemory
  // kMemory: where random bytes lie, and which, to try whether the peer's memory can be read.
  std::uint64_t probeAddress = 0;
  std::uint64_t probe[2] = {};
  char text[232] = {};
};
static_assert(sizeof(LocalMessage) == 328);

}  // namespace xylem
