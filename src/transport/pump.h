#pragma once
// What moves the steps of a queue between this process and the network. Ends of queues that lead over the
// network have one; those in shared memory need none.

#include <cstdint>

#include "transport/landing.h"

namespace xylem {

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
};

}  // namespace xylem
