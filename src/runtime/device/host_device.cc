#include "runtime/device/host_device.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/log.h"
#include "core/shareable_memory.h"
#include "core/slurm_lists.h"
#include "runtime/device/scheduler.h"

namespace xylem::device {
namespace {

// The number of this job's processes on this machine, if a launcher tells; otherwise 0.
int launchedLocally() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "LOCAL_WORLD_SIZE"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  const char* tasks = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  if (tasks == nullptr) return 0;
  const char* node = std::getenv("SLURM_NODEID");
  return slurmTasksOn(tasks, node == nullptr ? 0 : std::atoi(node)).value_or(0);
}

thread_local int threadDevice = 0;

}  // namespace

CoreSet coreSet() {
  CoreSet cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const auto online = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  for (std::size_t core = 0; core < cores.size() && core < CPU_SETSIZE; ++core)
    if (known ? CPU_ISSET(core, &allowed) : core < online) cores.set(core);
  if (cores.none()) cores.set(0);
  return cores;
}

namespace {

// `file` is of version 2 of control groups: `200000 100000`, as much time in each 100000 us; `max`: no limit.
std::optional<double> quotaIn(const std::filesystem::path& file) {
  std::ifstream in(file);
  double time = 0, period = 0;
  if (in >> time >> period && time > 0 && period > 0) return time / period;
  return std::nullopt;
}

// The same of version 1, which has a file for each number; -1: no limit.
std::optional<double> firstQuotaIn(const std::filesystem::path& folder) {
  std::ifstream time(folder / "cpu.cfs_quota_us"), period(folder / "cpu.cfs_period_us");
  double each = 0, of = 0;
  if (time >> each && period >> of && each > 0 && of > 0) return each / of;
  return std::nullopt;
}

// The kernel's number of a control group, which is the same in all namespaces.
std::uint64_t numberOf(const std::filesystem::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

// `3:cpu,cpuacct:/job/7` in version 1, `0::/job/7` in version 2. Groups around a group limit it, too. In a container the top is the
// container's own group.
std::optional<CoreQuota> coreQuota(const std::filesystem::path& root) {
  const std::filesystem::path mounted = root / "sys/fs/cgroup";
  std::optional<CoreQuota> least;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'),
                      second = line.find(":/", first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool isCpu = ("," + names + ",").find(",cpu,") != std::string::npos;
    if (!names.empty() && !isCpu) continue;
    const std::filesystem::path top = names.empty() ? mounted : mounted / names;
    std::filesystem::path group = line.substr(second + 2);
    for (;; group = group.parent_path()) {
      const auto quota = names.empty() ? quotaIn(top / group / "cpu.max") : firstQuotaIn(top / group);
      if (quota && (!least || *quota < least->cores)) least = {*quota, numberOf(top / group)};
      if (group.empty()) break;
    }
  }
  return least;
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

void* allocateMemory(std::size_t bytes) { return bytes == 0 ? nullptr : ShareableMemory::allocate(bytes); }

void releaseMemory(void* memory) noexcept {
  if (memory != nullptr) ShareableMemory::release(memory);
}

}  // namespace xylem::device
