#include "planner/topology/detect_cpu.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "core/error.h"
#include "planner/topology/detect_files.h"

namespace xylem::topology {
namespace {

// No kernel can be built for more.
constexpr int kMaxCpuNumber = (1 << 16) - 1;
constexpr std::size_t kBitsPerDigit = 4;
constexpr std::size_t kBitsPerGroup = 32;

// Removes the part of the text before the next `separator`, and the separator, and returns the part.
std::string_view nextPart(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

int numberOf(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int digitOf(char c) {
  int digit = 0;
  return std::from_chars(&c, &c + 1, digit, 16).ec == std::errc() ? digit : -1;
}

namespace fs = std::filesystem;

constexpr const char* kCpuFolder = "sys/devices/system/cpu";
constexpr const char* kNodeFolder = "sys/devices/system/node";

// The number in a name such as "node12"; -1 for other names.
int numberAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return -1;
  name.remove_prefix(prefix.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos ? parseInt(name, -1) : -1;
}

// A machine that hides its CPUs has as many as the system counts; a captured machine without any has one.
CpuSet onlineCpus(const fs::path& root) {
  if (const CpuSet online = CpuSet::ofList(readLine(root / kCpuFolder / "online")); !online.empty())
    return online;
  return CpuSet::first(root == "/" ? std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))) : 1);
}

// The CPUs that this process's control group may use; empty if there is no limit. The binding of the process
// itself does not count, because all ranks of a host have to see the same machine.
CpuSet allowedCpus(const fs::path& root) {
  constexpr std::size_t kMaxGroups = 64;
  const fs::path mounted = root / "sys/fs/cgroup";
  for (const std::string& line : readLines(root / "proc/self/cgroup", kMaxGroups)) {
    // "4:cpuset:/job" in version 1, "0::/job" in version 2. In a container the group's folder is often
    // missing, because the container's own group is mounted at the top.
    const bool second = line.starts_with("0::/");
    const std::size_t name = line.find(":cpuset:/");
    if (!second && name == std::string::npos) continue;
    const std::string group = line.substr(line.find(":/") + 2);
    const fs::path base = second ? mounted : mounted / "cpuset";
    const char* file = second ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
    for (const fs::path& folder : {base / group, base})
      if (const CpuSet set = CpuSet::ofList(readLine(folder / file)); !set.empty()) return set;
  }
  return {};
}

CpuSet usableCpus(const fs::path& root) {
  const CpuSet online = onlineCpus(root);
  const CpuSet usable = online & allowedCpus(root);
  return usable.empty() ? online : usable;
}

// The first CPU of each core. Where the system tells no cores, as in some virtual machines and containers,
// each CPU counts as a core.
std::vector<int> firstOfCores(const fs::path& root, const CpuSet& cpus) {
  std::set<std::string> known;
  std::vector<int> first;
  for (const int cpu : cpus.numbers()) {
    const fs::path topology = root / kCpuFolder / fmt::format("cpu{}", cpu) / "topology";
    std::string core = readLine(topology / "core_cpus");
    if (core.empty()) core = readLine(topology / "thread_siblings");
    if (core.empty() || known.insert(core).second) first.push_back(cpu);
  }
  return first;
}

// Key and value of a /proc/cpuinfo line "key : value". The value keeps its blanks: a maker is called "
// Shanghai  ".
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

CpuIdentity readCpuIdentity(const fs::path& root) {
  CpuIdentity identity{buildArchitecture(), "", -1, -1};
  // All CPUs are alike, and no kernel prints more than 64 lines per CPU.
  for (const std::string& line : readLines(root / "proc/cpuinfo", 64)) {
    const auto [key, value] = splitLine(line);
    if (key == "vendor_id") identity.arch = "x86_64", identity.vendor = value;
    if (key == "cpu family") identity.family = ncclFamily(parseInt(value, 0));
    if (key == "model") identity.model = parseInt(value, 0);
    if (key == "CPU implementer") identity.arch = "arm64";
    if (key == "cpu" && value.starts_with("POWER")) identity.arch = "ppc64";
  }
  // A hidden file leaves the maker unknown.
  if (identity.arch == "x86_64" && identity.vendor.empty()) identity.vendor = "unknown";
  return identity;
}

}  // namespace

CpuSet CpuSet::first(int count) {
  CpuSet set;
  for (int cpu = 0; cpu < count; ++cpu) set.add(cpu);
  return set;
}

CpuSet CpuSet::ofList(std::string_view text) {
  CpuSet set;
  while (!text.empty()) {
    std::string_view part = nextPart(text, ',');
    const int begin = numberOf(nextPart(part, '-'));
    if (begin < 0) continue;
    const int end = part.empty() ? begin : std::min(numberOf(part), kMaxCpuNumber);
    for (int cpu = begin; cpu <= end; ++cpu) set.add(cpu);
  }
  return set;
}

CpuSet CpuSet::ofMask(std::string_view text) {
  CpuSet set;
  int bit = 0;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    const int digit = digitOf(*c);
    if (digit < 0) continue;  // the comma between groups
    for (std::size_t i = 0; i < kBitsPerDigit; ++i, ++bit)
      if ((static_cast<unsigned>(digit) >> i & 1u) != 0) set.add(bit);
  }
  return set;
}

void CpuSet::add(int cpu) {
  if (cpu < 0 || cpu > kMaxCpuNumber) return;
  const auto i = static_cast<std::size_t>(cpu);
  if (i >= has_.size()) has_.resize(i + 1, false);
  has_[i] = true;
}

std::vector<int> CpuSet::numbers() const {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < has_.size(); ++i)
    if (has_[i]) numbers.push_back(static_cast<int>(i));
  return numbers;
}

std::string CpuSet::mask() const {
  std::string text;
  for (std::size_t group = std::max<std::size_t>((has_.size() + kBitsPerGroup - 1) / kBitsPerGroup, 1);
       group-- > 0;) {
    std::uint32_t bits = 0;
    for (std::size_t bit = 0; bit < kBitsPerGroup; ++bit)
      if (contains(static_cast<int>(group * kBitsPerGroup + bit))) bits |= 1u << bit;
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", bits);
  }
  return text;
}

CpuSet operator&(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  for (const int cpu : a.numbers())
    if (b.contains(cpu)) both.add(cpu);
  return both;
}

int CpuLayout::coreCount() const {
  std::size_t count = 0;
  for (const NumaNode& node : nodes) count += node.cores.size();
  return static_cast<int>(count);
}

CpuLayout readCpuLayout(const fs::path& root) {
  CpuLayout layout;
  layout.identity = readCpuIdentity(root);
  const CpuSet usable = usableCpus(root);
  std::vector<CpuSet> nodes;
  const auto addNode = [&](int id, const CpuSet& cpus) {
    if (id < 0 || cpus.empty()) return;
    layout.nodes.push_back({id, {}, cpus.mask()});
    nodes.push_back(cpus);
  };
  std::vector<int> ids;
  for (const std::string& name : listFolder(root / kNodeFolder)) ids.push_back(numberAfter("node", name));
  std::sort(ids.begin(), ids.end());
  for (const int id : ids)
    addNode(id, usable & CpuSet::ofMask(readLine(root / kNodeFolder / fmt::format("node{}", id) / "cpumap")));
  if (nodes.empty()) addNode(0, usable);

  for (const int cpu : firstOfCores(root, usable)) {
    // A core near several nodes (HBM next to DRAM) belongs to the lowest numbered.
    const auto home =
        std::find_if(nodes.begin(), nodes.end(), [&](const CpuSet& node) { return node.contains(cpu); });
    if (home != nodes.end())
      layout.nodes[static_cast<std::size_t>(home - nodes.begin())].cores.push_back(cpu);
  }
  std::erase_if(layout.nodes, [](const NumaNode& node) { return node.cores.empty(); });
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

}  // namespace xylem::topology
