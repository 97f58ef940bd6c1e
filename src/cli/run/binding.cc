#include "cli/run/binding.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <tuple>

namespace xylem::cli {
namespace {

constexpr int kMostCpus = 8192;

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeSet>;
const std::size_t kSetBytes = CPU_ALLOC_SIZE(kMostCpus);

CpuSet emptySet() {
  CpuSet set(CPU_ALLOC(kMostCpus));
  CPU_ZERO_S(kSetBytes, set.get());
  return set;
}

// -1 where the system does not tell.
int topologyNumber(int cpu, const char* file) {
  int number = -1;
  std::ifstream(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, file)) >> number;
  return number;
}

}  // namespace

std::vector<int> usableCpus() {
  const CpuSet set = emptySet();
  if (sched_getaffinity(0, kSetBytes, set.get()) != 0) return {};
  std::vector<std::tuple<int, int, int>> places;
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), kSetBytes, set.get()))
      places.emplace_back(topologyNumber(cpu, "physical_package_id"), topologyNumber(cpu, "core_id"), cpu);
  std::sort(places.begin(), places.end());
  std::vector<int> cpus;
  for (const auto& place : places) cpus.push_back(std::get<2>(place));
  return cpus;
}

std::vector<int> shareOf(const std::vector<int>& cpus, int part, int parts) {
  const auto count = static_cast<int>(cpus.size());
  if (count == 0) return {};
  if (count < parts) return {cpus[static_cast<std::size_t>(part % count)]};
  return {cpus.begin() + static_cast<std::ptrdiff_t>(count) * part / parts,
          cpus.begin() + static_cast<std::ptrdiff_t>(count) * (part + 1) / parts};
}

bool bindTo(const std::vector<int>& cpus) {
  const CpuSet set = emptySet();
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), kSetBytes, set.get());
  return sched_setaffinity(0, kSetBytes, set.get()) == 0;
}

}  // namespace xylem::cli
