#pragma once
// How ranks of one host use each other's memory. In one process an address is enough. Between processes a
// rank maps the peer's ShareableMemory; other memory is copied through the queue, or read and written through the kernel
// (process_vm_readv, process_vm_writev) where that is faster (CopyChoices) and permitted.
//
//   LocalPeerMemory memory(session, {.sameProcess = false, .peerReads = true, .process = pid});
//   SendEnd end(peer, queue, &memory);

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/message_ways.h"
#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/local/readable_memory.h"
#include "runtime/transport/session/peer_session.h"

namespace xylem::transport {

class LocalPeerMemory : public PeerMemory {
 public:
  struct Reach {
    bool sameProcess = false;
    bool peerReads = false;  // the peer can read and write our memory through the kernel
    pid_t process = -1;      // the peer's process, to read its memory
    CopyChoices choices{};   // those of all ranks of the host
    bool reads = false;      // we can read the peer's likewise
    bool decides = false;    // of the two ranks this one decides how messages go that they exchange
    TellChange tell{};       // hears how messages go from now on
  };
  LocalPeerMemory(PeerSession& session, const Reach& reach);

  bool locate(const std::byte* data, std::size_t bytes, bool readable, StepNote& note) override;
  bool reads(std::uint64_t bytes) const override { return reach_.choices.reads(bytes); }
  bool readsMessage(std::uint64_t bytes, std::uint32_t told) override;
  Hears hearsOf(std::uint64_t bytes) const override {
    if (ways_ == nullptr || bytes < kLeastHandedOver) return Hears::kNothing;
    return adapts(bytes) && ways_->times(bytes) ? Hears::kTime : Hears::kMessage;
  }
  std::uint32_t received(std::uint64_t bytes, bool read, std::optional<std::chrono::nanoseconds> time,
                         std::optional<std::chrono::nanoseconds> line) override;
  Handover handoverFrom() const override {
    return reach_.choices.handover(ways_ == nullptr ? reach_.choices.far != 0 : ways_->isFar());
  }
  Handover handoverTo(std::uint32_t told) const override {
    return ways_ == nullptr ? handoverFrom() : reach_.choices.handover(ways_->isFar(told));
  }
  const std::byte* reach(const StepNote& note) override;
  void read(const StepNote& note, std::byte* out) override;
  bool offer(std::byte* out, std::size_t bytes, bool throughKernel, BufferPlace& place) override;
  bool write(std::uint64_t address, const std::byte* data, std::size_t bytes) override;
  std::byte* at(const BufferPlace& place, std::size_t bytes) override;
  std::size_t streamsFrom() const override { return reach_.choices.streamMessage; }
  bool peerReads() const override { return reach_.sameProcess || reach_.peerReads; }
  bool admit(std::uint32_t region) override { return reach_.sameProcess || session_.sendRegion(region); }

 private:
  // Whether the way of messages of this size may change.
  bool adapts(std::uint64_t bytes) const { return ways_ != nullptr && WaysBySize::has(bytes); }
  void peerWillUse(const std::byte* data, std::size_t bytes) const;
  [[noreturn]] void throwUnreachable(const char* what, std::size_t bytes, int error) const;

  PeerSession& session_;
  const Reach reach_;
  ReadableMemory readable_;
  std::unique_ptr<MessageWays> ways_;  // between processes
};

}  // namespace xylem::transport
