#pragma once
// The CPUs of a machine: NUMA nodes and their cores from /sys, make and model from /proc/cpuinfo, and the
// `cpu` elements made of them.
//
//   CpuLayout layout = readCpuLayout("/");
//   CpuElements cpus(doc, layout, "/", hostHash("/", ""));
//   ElementId cpu = cpus.of(1);   // the element of NUMA node 1, made on first use

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "planner/topology/document.h"

namespace xylem::topology {

// A set of CPUs by their numbers, as the kernel writes them:
//
//   CpuSet online = CpuSet::ofList("0-3,8");            // cpu/online
//   CpuSet node = CpuSet::ofMask("00000000,0000ffff");  // node0/cpumap
//   (online & node).mask()                              // "0000000f"
class CpuSet {
 public:
  CpuSet() = default;
  // The CPUs 0 to count - 1.
  static CpuSet first(int count);
  // Both ignore parts of the text that are no numbers.
  static CpuSet ofList(std::string_view text);
  static CpuSet ofMask(std::string_view text);

  void add(int cpu);
  bool contains(int cpu) const {
    return cpu >= 0 && static_cast<std::size_t>(cpu) < has_.size() && has_[static_cast<std::size_t>(cpu)];
  }
  bool empty() const { return has_.empty(); }
  std::vector<int> numbers() const;  // ascending
  // In groups of eight hexadecimal digits, as many as the largest number needs.
  std::string mask() const;

  friend CpuSet operator&(const CpuSet& a, const CpuSet& b);

 private:
  std::vector<bool> has_;  // by CPU, up to the largest in the set
};

struct NumaNode {
  int id = 0;                // the kernel's number
  std::vector<int> cores;    // for each core usable here, the number of its first CPU
  std::string affinityMask;  // of the usable CPUs, in the kernel's form ("00000000,0000ffff")
};

struct CpuIdentity {
  std::string arch;    // x86_64, arm64, ppc64
  std::string vendor;  // x86 only: CPUID's twelve characters
  int family = -1;     // x86 only, in NCCL's numbering: base + 16 * extended
  int model = -1;
};

struct CpuLayout {
  std::vector<NumaNode> nodes;  // ascending ids; only those with usable cores
  CpuIdentity identity;

  int coreCount() const;
};

// The layout has at least one node with one core.
CpuLayout readCpuLayout(const std::filesystem::path& root);

// The `cpu` elements of a document under construction, by NUMA node. An element that a topology file
// describes gets its missing attributes when a device is found below it.
class CpuElements {
 public:
  CpuElements(Document& document, const CpuLayout& layout, std::filesystem::path root, std::string hostHash)
      : document_(document), layout_(layout), root_(std::move(root)), hostHash_(std::move(hostHash)) {}

  // Makes one element for each node of the layout, for host devices. From then on a device of node -1
  // (unknown) belongs to the only node, if there is just one. Otherwise it belongs to a CPU of its own, as in
  // NCCL.
  void addAll();

  // The element of a node, made on first use.
  ElementId of(int numaId);
  // The document's first cpu element, made if there is none.
  ElementId first();
  // Gives an element the attributes of its CPU that the system knows and the element lacks.
  void complete(ElementId cpu);

 private:
  Document& document_;
  const CpuLayout& layout_;
  std::filesystem::path root_;
  std::string hostHash_;
  std::set<ElementId> complete_;
  bool addedAll_ = false;
};

}  // namespace xylem::topology
