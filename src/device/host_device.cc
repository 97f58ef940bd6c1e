#include "device/host_device.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/log.h"
#include "device/scheduler.h"

namespace xylem {
namespace {

constexpr std::size_t kAlignment = 256;  // cudaMalloc's promise
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// How many processes of the job a launcher says it started on this machine; 0 if none does.
int launchedLocally() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

thread_local int threadDevice = 0;

}  // namespace

int coreCount() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int hostDeviceCount(const Settings& settings) {
  if (const auto wanted = settings.integer(Setting::kHostDevices); wanted > 0)
    return static_cast<int>(wanted);
  return std::max({1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), launchedLocally()});
}

int currentDevice() { return threadDevice; }

void setCurrentDevice(int device) {
  threadDevice = device;
  Logger::setThreadDevice(device);
}

OwnedStream::OwnedStream(int device) : stream_(device) { Scheduler::instance().attach(stream_); }

OwnedStream::~OwnedStream() { Scheduler::instance().detach(stream_); }

void* allocateMemory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kAlignment;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0)
    throw Error(ResultCode::kSystemError, "cannot allocate {} bytes", bytes);
  // Large buffers are walked through from end to end: fewer address translations. Only a hint.
  if (bytes >= kHugePageBytes) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

void releaseMemory(void* memory) noexcept { std::free(memory); }

}  // namespace xylem
