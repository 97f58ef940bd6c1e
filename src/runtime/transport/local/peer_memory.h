#pragma once
// Access to payload that stays in the memory of the peer of a queue. The writer notes where the payload is;
// the reader turns the note into an address, or copies the payload. In the other direction the reader offers its output, and the writer
// turns that into an address, or writes a part of the payload there. One object serves both directions of a
// connection. LocalPeerMemory implements it for ranks of one host, NetPeerMemory for senders over a network.
//
//   StepNote note;
//   if (memory->locate(data, bytes, memory->reads(bytes), note)) ...                      // the writer
//   if (const std::byte* data = memory->reach(note)) ...; else memory->read(note, out);   // the reader
//   if (memory->offer(out, bytes, true, place)) ...                                       // the reader
//   if (std::byte* out = memory->at(place, bytes)) ...; else memory->write(...);          // the writer

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/copying.h"
#include "runtime/transport/local/mailbox.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  // Notes where the peer finds `data`. Returns false if the peer cannot read it there, or could only read it through the kernel and
  // is not to (`readable` false).
  virtual bool locate(const std::byte* data, std::size_t bytes, bool readable, StepNote& note) = 0;
  // Whether the peer is to read data of this size through the kernel, where it can map it in no other way.
  virtual bool reads(std::uint64_t) const { return false; }
  // The same for the next message, for which this may change from one to the next: the receiver times messages, and tells with
  // each what it has found (`told`, as received() returned it there; 0: nothing yet).
  virtual bool readsMessage(std::uint64_t bytes, std::uint32_t) { return reads(bytes); }
  // Whether received() wants to hear of the next message, and of its time.
  enum class Hears { kNothing, kMessage, kTime };
  virtual Hears hearsOf(std::uint64_t) const { return Hears::kNothing; }
  // A message of which it wants to hear took this long, read or staged, if it was timed; and so did a line from the sender. Returns what to
  // tell the sender.
  virtual std::uint32_t received(std::uint64_t, bool, std::optional<std::chrono::nanoseconds> /*time*/,
                                 std::optional<std::chrono::nanoseconds> /*line*/) {
    return 0;
  }
  // How the payload of steps comes from the peer, and goes to it (`told`, as above).
  virtual Handover handoverFrom() const { return Handover::kFarCache; }
  virtual Handover handoverTo(std::uint32_t) const { return Handover::kFarCache; }
  // The address of a note of the peer in this address space; null if only read() can fetch the payload.
  // Throws if the note is invalid.
  virtual const std::byte* reach(const StepNote& note) = 0;
  // Notes where the peer may write a part of what it sends; through the kernel only if `throughKernel`. Returns false if it cannot.
  virtual bool offer(std::byte*, std::size_t, bool /*throughKernel*/, BufferPlace&) { return false; }
  // Writes `data` to an address of the peer's process, through the kernel. Returns false if the kernel does not let it, as for memory of a
  // device. Throws Error (ncclRemoteError) if the peer is gone.
  virtual bool write(std::uint64_t /*address*/, const std::byte* /*data*/, std::size_t /*bytes*/) {
    return false;
  }
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
  // Copies the payload of a note of the peer. The caller looks afterwards whether the peer has withdrawn: one that has waits for
  // readers, but not for ever. Throws Error (ncclRemoteError) if the peer is gone.
  virtual void read(const StepNote& note, std::byte* out) = 0;
};

}  // namespace xylem::transport
