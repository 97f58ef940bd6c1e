#pragma once
// What a rank does with one slot of its queues: the words that algorithms are made of.
//
//   Primitives p(previous, next, reduction);
//   if (!p.recvReduceSend(own, n)) return Progress::kWouldBlock;   // nothing happened; try again later
//
// Each takes `n` elements that fit into a slot, and either does all of it or, if a queue is empty or full,
// nothing. With n = 0 no slot moves: both sides know from the same arithmetic that there is nothing to send.

#include <cstddef>
#include <cstring>

#include "collectives/reduction.h"
#include "transport/fifo.h"

namespace xylem {

enum class BlockedOn { kNothing, kPrevious, kNext };

class Primitives {
 public:
  Primitives(FifoReader& previous, FifoWriter& next, const Reduction& reduction)
      : previous_(previous), next_(next), reduction_(reduction) {}

  bool send(const std::byte* own, std::size_t n) {
    if (n == 0) return true;
    if (!canSend()) return false;
    reduction_.enter(next_.slot(), own, n, reduction_.factor);
    next_.push();
    return true;
  }
  bool recvReduceSend(const std::byte* own, std::size_t n) {
    if (n == 0) return true;
    if (!canRecv() || !canSend()) return false;
    reduction_.combine(next_.slot(), previous_.slot(), own, n, reduction_.factor);
    previous_.pop();
    next_.push();
    return true;
  }
  // The last combination; `out` may equal `own`.
  bool recvReduceCopySend(const std::byte* own, std::byte* out, std::size_t n) {
    if (n == 0) return true;
    if (!canRecv() || !canSend()) return false;
    reduction_.finish(out, next_.slot(), previous_.slot(), own, n, reduction_.factor);
    previous_.pop();
    next_.push();
    return true;
  }
  bool recvCopySend(std::byte* out, std::size_t n) {
    if (n == 0) return true;
    if (!canRecv() || !canSend()) return false;
    std::memcpy(out, previous_.slot(), n * reduction_.elementBytes);
    std::memcpy(next_.slot(), out, n * reduction_.elementBytes);
    previous_.pop();
    next_.push();
    return true;
  }
  bool recv(std::byte* out, std::size_t n) {
    if (n == 0) return true;
    if (!canRecv()) return false;
    std::memcpy(out, previous_.slot(), n * reduction_.elementBytes);
    previous_.pop();
    return true;
  }

  // After one of them returned false: the end that has to move first.
  BlockedOn blockedOn() const { return blockedOn_; }

 private:
  bool canRecv() {
    const bool ready = previous_.ready();
    blockedOn_ = ready ? BlockedOn::kNothing : BlockedOn::kPrevious;
    return ready;
  }
  bool canSend() {
    const bool ready = next_.ready();
    blockedOn_ = ready ? BlockedOn::kNothing : BlockedOn::kNext;
    return ready;
  }

  FifoReader& previous_;
  FifoWriter& next_;
  const Reduction& reduction_;
  BlockedOn blockedOn_ = BlockedOn::kNothing;
};

}  // namespace xylem
