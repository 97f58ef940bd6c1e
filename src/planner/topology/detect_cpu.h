#pragma once
// The CPUs of a machine: NUMA nodes and their cores from /sys, make and model from /proc/cpuinfo, and the
// `cpu` elements made of them.
//
//   CpuLayout layout = readCpuLayout("/");
//   CpuElements cpus(doc, layout, "/", hostHash);
//   ElementId below = cpus.of(1);                // the element of NUMA node 1, made on first use

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "planner/topology/document.h"

namespace xylem {

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

// Has at least one node with one core.
CpuLayout readCpuLayout(const std::filesystem::path& root);

CpuIdentity readCpuIdentity(const std::filesystem::path& root);

// The `cpu` elements of a document under construction, found by NUMA node. What a file left out of one that
// it describes is completed when something is found below it.
class CpuElements {
 public:
  CpuElements(Document& document, const CpuLayout& layout, std::filesystem::path root, std::string hostHash)
      : document_(document), layout_(layout), root_(std::move(root)), hostHash_(std::move(hostHash)) {}

  // Makes one element for each node of the layout, for host devices. A device of node -1 (unknown) then
  // belongs to the only node, where there is one only; else, as in NCCL, to a CPU of its own.
  void addAll();

  // The element of a node, made on first use.
  ElementId of(int numaId);
  // The document's first.
  ElementId first();
  // Gives an element what the system knows of its CPU.
  void complete(ElementId cpu);

 private:
  Document& document_;
  const CpuLayout& layout_;
  std::filesystem::path root_;
  std::string hostHash_;
  std::set<ElementId> complete_;
  bool addedAll_ = false;
};

}  // namespace xylem
