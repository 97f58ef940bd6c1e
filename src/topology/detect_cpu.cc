#include "topology/detect_cpu.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "topology/detect_files.h"

namespace xylem {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

// hwloc takes the root folder of a captured machine from the environment only.
class ReplayRoot {
 public:
  explicit ReplayRoot(const std::filesystem::path& root) : active_(root != "/") {
    if (active_) setenv(kVariable, root.c_str(), 1);
  }
  ~ReplayRoot() {
    if (active_) unsetenv(kVariable);
  }
  ReplayRoot(const ReplayRoot&) = delete;
  ReplayRoot& operator=(const ReplayRoot&) = delete;

 private:
  static constexpr const char* kVariable = "HWLOC_FSROOT";
  bool active_;
};

// Without PCI and network objects: hwloc reads those from configuration space, which takes privileges; sysfs
// does not.
Topology loadHwloc(const std::filesystem::path& root) {
  const ReplayRoot replay(root);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw Error(ResultCode::kSystemError, "cannot read this machine's CPUs: hwloc does not start");
  Topology topology(raw, &hwloc_topology_destroy);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(raw) != 0)
    throw Error(ResultCode::kSystemError, "cannot read this machine's CPUs: hwloc: {}", errnoText(errno));
  return topology;
}

constexpr unsigned kBitsPerGroup = 32;

std::string maskText(hwloc_const_bitmap_t set) {
  std::string text;
  for (int group = std::max(hwloc_bitmap_last(set), 0) / static_cast<int>(kBitsPerGroup); group >= 0;
       --group) {
    unsigned bits = 0;
    for (unsigned bit = 0; bit < kBitsPerGroup; ++bit)
      if (hwloc_bitmap_isset(set, static_cast<unsigned>(group) * kBitsPerGroup + bit)) bits |= 1u << bit;
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", bits);
  }
  return text;
}

// "key : value" of a /proc/cpuinfo line, with the value's own blanks: a maker is called "  Shanghai  ".
std::pair<std::string, std::string> splitLine(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return {};
  const std::size_t keyEnd = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
  return {line.substr(0, keyEnd + 1), colon + 2 < line.size() ? line.substr(colon + 2) : ""};
}

const char* buildArchitecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__powerpc64__)
  return "ppc64";
#else
  return "unknown";
#endif
}

// CPUID's base family is four bits; the kernel adds the extended one to it, NCCL adds sixteen times that.
constexpr int kLargestBaseFamily = 15;

int ncclFamily(int kernelFamily) {
  if (kernelFamily <= kLargestBaseFamily) return kernelFamily;
  return kLargestBaseFamily + 16 * (kernelFamily - kLargestBaseFamily);
}

}  // namespace

int CpuLayout::coreCount() const {
  std::size_t count = 0;
  for (const NumaNode& node : nodes) count += node.cores.size();
  return static_cast<int>(count);
}

CpuIdentity readCpuIdentity(const std::filesystem::path& root) {
  CpuIdentity identity{buildArchitecture(), "", -1, -1};
  // The first CPU's lines say it all; 64 are more than any kernel prints per CPU.
  for (const std::string& line : readLines(root / "proc/cpuinfo", 64)) {
    const auto [key, value] = splitLine(line);
    if (key == "vendor_id") identity.arch = "x86_64", identity.vendor = value;
    if (key == "cpu family") identity.family = ncclFamily(parseInt(value, 0));
    if (key == "model") identity.model = parseInt(value, 0);
    if (key == "CPU implementer") identity.arch = "arm64";
    if (key == "cpu" && value.starts_with("POWER")) identity.arch = "ppc64";
  }
  // The kernel shortens nothing but prints blanks as they are; a hidden file leaves the maker unknown.
  if (identity.arch == "x86_64" && identity.vendor.empty()) identity.vendor = "unknown";
  return identity;
}

CpuLayout readCpuLayout(const std::filesystem::path& root) {
  const Topology topology = loadHwloc(root);
  CpuLayout layout;
  layout.identity = readCpuIdentity(root);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (hwloc_bitmap_weight(node->cpuset) > 0)
      layout.nodes.push_back({static_cast<int>(node->os_index), {}, maskText(node->cpuset)});
  std::sort(layout.nodes.begin(), layout.nodes.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });

  // Virtual machines and some containers know no cores, only CPUs.
  const hwloc_obj_type_t unit =
      hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology.get(), unit, core)) != nullptr;) {
    // A core near several nodes (HBM next to DRAM) belongs to the lowest numbered.
    const auto home = std::find_if(layout.nodes.begin(), layout.nodes.end(), [&](const NumaNode& node) {
      return hwloc_bitmap_isset(core->nodeset, static_cast<unsigned>(node.id));
    });
    if (home != layout.nodes.end()) home->cores.push_back(hwloc_bitmap_first(core->cpuset));
  }
  std::erase_if(layout.nodes, [](const NumaNode& node) { return node.cores.empty(); });
  if (layout.nodes.empty())
    throw Error(ResultCode::kSystemError, "cannot read this machine's CPUs: hwloc found no usable core");
  return layout;
}

void CpuElements::addAll() {
  for (const NumaNode& node : layout_.nodes) of(node.id);
  addedAll_ = true;
}

ElementId CpuElements::of(int numaId) {
  if (numaId < 0 && addedAll_ && layout_.nodes.size() == 1) numaId = layout_.nodes.front().id;
  ElementId cpu = document_.child(document_.root(), "cpu", "numaid", std::to_string(numaId));
  if (cpu == kNoElement) {
    cpu = document_.add(document_.root(), "cpu");
    document_.set(cpu, "host_hash", hostHash_);
    document_.set(cpu, "numaid", std::to_string(numaId));
  }
  complete(cpu);
  return cpu;
}

ElementId CpuElements::first() {
  const ElementId cpu = document_.child(document_.root(), "cpu");
  return cpu == kNoElement ? of(layout_.nodes.front().id) : cpu;
}

void CpuElements::complete(ElementId cpu) {
  if (!complete_.insert(cpu).second) return;
  const std::string* numa = document_.attribute(cpu, "numaid");
  const int numaId = numa == nullptr ? -1 : parseInt(*numa, -1);
  std::string mask = readLine(root_ / fmt::format("sys/devices/system/node/node{}/cpumap", numaId));
  const auto node = std::find_if(layout_.nodes.begin(), layout_.nodes.end(),
                                 [&](const NumaNode& other) { return other.id == numaId; });
  if (mask.empty() && node != layout_.nodes.end()) mask = node->affinityMask;
  if (!mask.empty()) document_.setIfAbsent(cpu, "affinity", mask);
  document_.setIfAbsent(cpu, "arch", layout_.identity.arch);
  if (layout_.identity.vendor.empty()) return;
  document_.setIfAbsent(cpu, "vendor", layout_.identity.vendor);
  document_.setIfAbsent(cpu, "familyid", std::to_string(layout_.identity.family));
  document_.setIfAbsent(cpu, "modelid", std::to_string(layout_.identity.model));
}

}  // namespace xylem
