#pragma once
// Access to payload that stays in the memory of the peer of a queue. The writer notes where the payload is;
// the reader turns the note into an address, or copies the payload. One object serves both directions of a
// connection. LocalPeerMemory implements it for ranks of one host, NetPeerMemory for senders over a network.
//
//   StepNote note;
//   if (memory->locate(data, bytes, message, note)) ...                                   // the writer
//   if (const std::byte* data = memory->reach(note)) ...; else memory->read(note, out);   // the reader

#include <cstddef>

#include "core/copying.h"
#include "runtime/transport/local/mailbox.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  // Notes where the peer finds `data`, a part of a message of `whole` bytes. Returns false if the peer cannot read it there, or a
  // copy costs less.
  virtual bool locate(const std::byte* data, std::size_t bytes, std::size_t whole, StepNote& note) = 0;
  // The address of a note of the peer in this address space; null if only read() can fetch the payload.
  // Throws if the note is invalid.
  virtual const std::byte* reach(const StepNote& note) = 0;
  // The address of a buffer of the peer in this address space, to be read and written; null if it cannot be
  // mapped. Throws if the place is invalid.
  virtual std::byte* at(const BufferPlace&, std::size_t) { return nullptr; }
  // Makes sure that the peer can map a region of our ShareableMemory. Returns false if that is not possible
  // now.
  virtual bool admit(std::uint32_t) { return false; }
  // Messages of this many bytes or more are copied past the caches.
  virtual std::size_t streamsFrom() const { return kStreamedMessage; }
  // True if the peer can read any memory of this rank, directly or through the kernel.
  virtual bool peerReads() const { return false; }
  // Copies the payload of a note of the peer. Throws Error (ncclRemoteError) if the peer is gone.
  virtual void read(const StepNote& note, std::byte* out) = 0;
};

}  // namespace xylem::transport
