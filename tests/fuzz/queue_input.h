#pragma once
// One input of the fuzzer of queues in shared memory: a faulty peer writes anything into counters, notes and
// slots. Both ends must stay inside the queue's memory and the memory that the peer has handed over, and
// throw Error for an invalid step.
//
//   feedQueue(bytes);   // true if nothing was refused

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <vector>

#include "core/shareable_memory.h"
#include "fuzz/session_input.h"
#include "runtime/transport/local/local_peer_memory.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem {

// The faulty peer. It has handed over its memory and sends nothing else, so all inputs can share one.
class MadPeer {
 public:
  MadPeer() : memory_(*fuzzed_.session(), {.sameProcess = false, .peerReads = false, .process = getpid()}) {
    fuzzed_.giveRegion(kPeersBytes, peersMemory().fd());
  }
  transport::PeerMemory& memory() { return memory_; }

 private:
  FuzzedSession fuzzed_;
  transport::LocalPeerMemory memory_;
};

class FuzzedQueue {
 public:
  explicit FuzzedQueue(transport::Slots slots)
      : slots_(slots),
        bytes_(transport::queueBytes(steps_, slots)),
        memory_(static_cast<std::byte*>(::operator new(bytes_, kPage)), Free{}) {
    std::memset(memory_.get(), 0, bytes_);
    new (memory_.get()) transport::QueueControl{};
  }

  const transport::StepBytes& steps() const { return steps_; }
  transport::QueueMemory queue() const { return transport::queueIn(memory_.get(), steps_, slots_); }
  transport::PeerMemory& peers() const {
    static MadPeer peer;
    return peer.memory();
  }
  // Writes the bytes at any offset of the queue's memory.
  void write(std::size_t at, std::span<const std::byte> bytes) {
    at %= bytes_;
    if (!bytes.empty()) std::memcpy(memory_.get() + at, bytes.data(), std::min(bytes.size(), bytes_ - at));
  }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kPage); }
  };
  const transport::StepBytes steps_ = transport::stepBytesFor(1024);
  const transport::Slots slots_;
  const std::size_t bytes_;
  const std::unique_ptr<std::byte, Free> memory_;
};

// Memory for messages that the peer can map, so that both ends may copy them; it outlives the ends.
constexpr std::size_t kLongMessage = 200000;
inline std::byte* longMessage() {
  static auto* const memory = static_cast<std::byte*>(ShareableMemory::allocate(kLongMessage));
  return memory;
}

inline void receiveOne(transport::RecvEnd& end, Protocol protocol, std::size_t bytes, int how) {
  std::vector<std::byte> out(bytes);
  if (how == 2) {
    if (bytes % 4 == 1)
      end.takePiece(protocol, longMessage(), kLongMessage);
    else if (bytes > 0)
      end.takePiece(protocol, out.data(), bytes);
  } else if (how == 1) {
    const std::byte* data = end.peek(protocol, bytes);
    if (data == nullptr) return;
    if (bytes > 0) std::memcpy(out.data(), data, bytes);
    end.release(protocol);
  } else {
    end.take(protocol, out.data(), bytes);
  }
}

inline void sendOne(transport::SendEnd& end, Protocol protocol, std::size_t bytes, bool reserve) {
  const std::vector<std::byte> data(bytes, std::byte{9});
  if (!reserve && bytes % 4 == 1) {
    end.sendPiece(protocol, longMessage(), kLongMessage, kLongMessage, true);
  } else if (!reserve) {
    end.share(protocol, data.data(), bytes);
  } else if (std::byte* slot = end.reserve(protocol)) {
    if (bytes > 0) std::memcpy(slot, data.data(), bytes);
    end.commit(protocol, bytes);
  }
  if (!end.drained()) end.help();
}

inline bool feedQueueOf(transport::Slots slots, std::string_view bytes) {
  Input input(bytes);
  FuzzedQueue fuzzed(slots);
  transport::startAt(fuzzed.queue(), input.take<std::uint64_t>());
  fuzzed.write(0, input.piece(input.take<std::uint16_t>()));
  transport::RecvEnd receiver(1, fuzzed.queue(), &fuzzed.peers());
  transport::SendEnd sender(1, fuzzed.queue(), &fuzzed.peers());
  bool all = true;
  for (int i = 0; i < 64 && !input.empty(); ++i) {
    const auto what = input.take<std::uint8_t>();
    const Protocol protocol = kAllProtocols[(what >> 4) % kAllProtocols.size()];
    try {
      switch (what % 4) {
        case 0:
        case 1:
          receiveOne(receiver, protocol, input.take<std::uint8_t>() % (fuzzed.steps()[protocol] + 1),
                     (what >> 2) % 3);
          break;
        case 2:
          sendOne(sender, protocol, input.take<std::uint8_t>() % (fuzzed.steps()[protocol] + 1),
                  (what & 8) != 0);
          break;
        default: {
          const auto at = input.take<std::uint16_t>();
          fuzzed.write(at, input.piece(input.take<std::uint8_t>()));
        }
      }
    } catch (const Error&) {
      all = false;
    }
  }
  return all;
}
inline bool feedQueue(std::string_view bytes) {
  feedQueueOf(transport::Slots::kWide, bytes);
  return feedQueueOf(transport::Slots::kNarrow, bytes);
}

}  // namespace xylem
