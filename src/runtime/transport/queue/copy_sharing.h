#pragma once
// Shares long copies among threads; collectives/shared_work.h does it with a rank's helper threads. A queue's end without one copies
// in the thread that calls it.

#include <cstddef>
#include <functional>

namespace xylem::transport {

class CopySharing {
 public:
  virtual ~CopySharing() = default;
  // How many threads share a copy.
  virtual std::size_t threads() const = 0;
  // Calls copy(begin, end) for stretches that make up the bytes 0 to `bytes` - 1 together, several of them at the same time. Throws what
  // one of the calls throws, once all are over.
  virtual void share(std::size_t bytes,
                     const std::function<void(std::size_t begin, std::size_t end)>& copy) const = 0;
};

}  // namespace xylem::transport
