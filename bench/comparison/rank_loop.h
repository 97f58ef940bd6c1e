#pragma once
// What the ranks of all contenders have in common: they do what the driver says, one command after the other,
// with whichever library their Engine is of.
//
//   class MpiEngine : public Engine { … };
//   serve(engine, ControlSocket::connect(path));

#include "comparison/control.h"

namespace xylem::bench {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Where all meet, of rank 0; for libraries that do not know it from their launcher.
  virtual std::array<char, kIdBytes> newId() { return {}; }
  virtual std::string version() { return ""; }
  virtual void join(const std::array<char, kIdBytes>& id) = 0;

  virtual void* allocate(std::size_t bytes);
  virtual void release(void* memory);

  virtual void barrier() = 0;
  // The operation so many times. Each call is over before the next one, unless `pipelined`.
  virtual void repeat(const Case& c, const float* in, float* out, std::uint32_t times, bool pipelined) = 0;
};

// Until the driver says kQuit or is gone. What fails is told to the driver, and ends the process.
void serve(Engine& engine, const ControlSocket& driver);

// This thread, and those that it starts, stay on this core from now on.
void pinTo(int core);

// A rank ends with whoever started it, however that ends.
void endWithParent();

}  // namespace xylem::bench
