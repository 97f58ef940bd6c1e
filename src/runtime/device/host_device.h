#pragma once
// The host devices of this process: their number, the current device of a thread, their streams and memory.
//
//   setCurrentDevice(2);
//   OwnedStream stream(currentDevice());

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/settings.h"
#include "runtime/device/stream.h"

namespace xylem::device {

// The cores on which the calling thread may run: at least one, and only the first 1024 of the machine.
using CoreSet = std::bitset<1024>;
CoreSet coreSet();
inline int coreCount() { return static_cast<int>(coreSet().count()); }

// How many cores the control groups of this process may use at the same time, and the one that limits them most; nothing: there is no limit.
// `root`: where /proc and /sys are.
struct CoreQuota {
  double cores = 0;
  std::uint64_t group = 0;  // the same for all processes in it
};
std::optional<CoreQuota> coreQuota(const std::filesystem::path& root = "/");

// XYLEM_HOST_DEVICES if that is set. Otherwise one per core of the machine, or one per process of the job on
// this machine if that is more.
int hostDeviceCount(const Settings& settings);

int currentDevice();
void setCurrentDevice(int device);

// A stream that the scheduler knows until it is destroyed.
class OwnedStream {
 public:
  explicit OwnedStream(int device);
  ~OwnedStream();
  Stream& get() { return stream_; }

 private:
  Stream stream_;
};

// Memory of a device: `bytes`, aligned to 256, which other processes of the host can map
// (core/shareable_memory.h). Null for 0 bytes. Throws Error if there is not enough memory. releaseMemory
// accepts null.
void* allocateMemory(std::size_t bytes);
void releaseMemory(void* memory) noexcept;

}  // namespace xylem::device
