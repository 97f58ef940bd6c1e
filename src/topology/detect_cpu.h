#pragma once
// The CPUs of a machine: NUMA nodes and their cores through hwloc, make and model from /proc/cpuinfo, and the
// `cpu` elements made of them.
//
//   CpuLayout layout = readCpuLayout("/");
//   CpuElements cpus(doc, layout, "/", hostHash);
//   ElementId below = cpus.of(1);                // the element of NUMA node 1, made on first use

#include <filesystem>
#include <string>
#include <vector>

#include "topology/document.h"

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

// Throws Error if hwloc cannot start.
CpuLayout readCpuLayout(const std::filesystem::path& root);

CpuIdentity readCpuIdentity(const std::filesystem::path& root);

// The `cpu` elements of a document under construction, found by NUMA node.
class CpuElements {
 public:
  // Makes one element for each node of the layout.
  CpuElements(Document& document, const CpuLayout& layout, std::filesystem::path root, std::string hostHash);

  // A node without cores (memory or devices only) gets its element on first use. -1 means unknown; where
  // there is only one node, that is the one.
  ElementId of(int numaId);
  ElementId first() const { return first_; }

 private:
  ElementId add(int numaId, const std::string& fallbackMask);

  Document& document_;
  const CpuLayout& layout_;
  std::filesystem::path root_;
  std::string hostHash_;
  ElementId first_ = kNoElement;
};

}  // namespace xylem
