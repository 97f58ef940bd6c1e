#pragma once
// The command loop that the ranks of all contenders share: they follow the driver's commands one after the
// other, with an Engine for their library.
//
//   class MpiEngine : public Engine { … };
//   serve(engine, ControlSocket::connect(path));

#include <span>

#include "comparison/control.h"

namespace xylem::bench {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Rank 0's address or id; for libraries that do not get it from their launcher.
  virtual std::array<char, kIdBytes> newId() { return {}; }
  virtual std::string version() { return ""; }
  virtual void join(const std::array<char, kIdBytes>& id) = 0;

  virtual void* allocate(std::size_t bytes);
  virtual void release(void* memory);

  virtual void barrier() = 0;
  // Runs the operation `iterations` times. Each call ends before the next one, unless `pipelined`.
  virtual void repeat(const Case& c, const float* in, float* out, std::uint32_t times, bool pipelined) = 0;
};

// Serves commands until the driver sends kQuit or is gone. An error is sent to the driver, and ends the
// process.
void serve(Engine& engine, const ControlSocket& driver);

// Binds this thread, and the threads that it starts, to these cores from now on; leaves it where it may run, if there are none.
void pinTo(std::span<const int> cores);

// Makes the kernel kill a rank when its parent ends, in whatever way.
void endWithParent();

}  // namespace xylem::bench
