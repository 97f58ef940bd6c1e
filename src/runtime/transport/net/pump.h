#pragma once
// What moves the steps of a queue between this process and the network. Ends of queues that lead over the
// network have one; those in shared memory need none.

#include <cstddef>
#include <cstdint>

#include "runtime/transport/net/landing.h"

namespace xylem {

// Is told how the steps of a queue go over the network, by whoever moves them, one at a time.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // What is to be sent has been handed to the network; or there is room for what comes, of so many bytes.
  virtual void posted(std::uint64_t step, std::size_t bytes) noexcept = 0;
  // It has left, or it is here.
  virtual void moved(std::uint64_t step, std::size_t bytes) noexcept = 0;
};

class Pump {
 public:
  virtual ~Pump() = default;
  // Moves what can be moved without waiting; true if something was. Any thread may call it at any time; if
  // another one is at it, it returns false at once.
  virtual bool pump() noexcept = 0;
  // The same, by the reader, who waits for this step only: what comes behind it stays where it is, out of the
  // caches. Its payload may go to the landing, if that is anywhere.
  virtual bool pumpFor(std::uint64_t /*step*/, Landing& /*landing*/) noexcept { return pump(); }
  // Throws if it will never move anything again, naming the peer.
  virtual void check() const {}
  // From now on tells `observer`, which must outlive the pump; false if it never tells anybody. From any
  // thread.
  virtual bool observe(StepObserver& /*observer*/) { return false; }
};

}  // namespace xylem
