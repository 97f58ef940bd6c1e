#pragma once
// The host devices of this process: how many there are, which is a thread's current one, their streams and
// memory.
//
//   setCurrentDevice(2);
//   OwnedStream stream(currentDevice());

#include <bitset>
#include <cstddef>

#include "core/settings.h"
#include "runtime/device/stream.h"

namespace xylem {

// The cores that the calling thread may run on: at least one, of the first 1024 that the machine may have.
using CoreSet = std::bitset<1024>;
CoreSet coreSet();
inline int coreCount() { return static_cast<int>(coreSet().count()); }

// XYLEM_HOST_DEVICES, or one per core of the machine, or one per process of the job on this machine if that
// is more.
int hostDeviceCount(const Settings& settings);

int currentDevice();
void setCurrentDevice(int device);

// A stream the scheduler knows, until it is destroyed.
class OwnedStream {
 public:
  explicit OwnedStream(int device);
  ~OwnedStream();
  Stream& get() { return stream_; }

 private:
  Stream stream_;
};

// Memory of a device: `bytes` aligned to 256, where other processes of the host can be let in
// (core/shareable_memory.h); throws Error if there is none. releaseMemory takes null, too.
void* allocateMemory(std::size_t bytes);
void releaseMemory(void* memory) noexcept;

}  // namespace xylem
