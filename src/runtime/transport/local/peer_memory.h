#pragma once
// How the reader of a queue gets at payload that stays in the writer's memory. The writer notes where it
// lies, the reader turns the note into an address, or into a copy.
//
//   StepNote note;
//   if (memory->locate(data, bytes, note)) ...                                  // the writer
//   if (const std::byte* data = memory->reach(note)) ...; else memory->read(note, out);   // the reader
//
// There is one for both directions of a connection; LocalPeerMemory is that of one host.

#include <cstddef>

#include "runtime/transport/local/board.h"
#include "runtime/transport/queue/queue.h"

namespace xylem {

class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  // Fills in where the peer finds `data`. False if it cannot get at it, or copying costs less.
  virtual bool locate(const std::byte* data, std::size_t bytes, StepNote& note) = 0;
  // What a note of the peer means in this address space; null if only `read` can fetch it. Throws if the note
  // makes no sense.
  virtual const std::byte* reach(const StepNote& note) = 0;
  // Where a buffer of the peer lies in this address space, to be read and written; null if it cannot be
  // reached. Throws if the place makes no sense.
  virtual std::byte* at(const BufferPlace&, std::size_t) { return nullptr; }
  // Makes sure that the peer can reach a region of our ShareableMemory. False if that is not possible now.
  virtual bool admit(std::uint32_t) { return false; }
  // Copies what a note of the peer means. Throws ncclRemoteError if the peer is gone.
  virtual void read(const StepNote& note, std::byte* out) = 0;
};

}  // namespace xylem
