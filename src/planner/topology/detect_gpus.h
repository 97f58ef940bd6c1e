#pragma once
// The gpu elements of a machine. The facts about GPUs that the kernel's files do not tell (which ones a job
// may use, their compute capability, NVLinks and chip-to-chip links) come from a GpuSource; host devices
// stand for computing on CPU cores (detect.h).
//
//   const std::unique_ptr<GpuSource> source = gpuSourceOf("/");          // NVIDIA's management library, NVML
//   const std::unique_ptr<GpuSource> source = gpuSourceOf("captured");   // the file captured/xylem/gpus
//   for (const GpuFacts& gpu : source->read().gpus) addGpu(doc, pci, gpu, rank++);
//   addHostDevices(doc, cpus, pci, layout, 4);   // four, or one per core if there are more cores
//
// The file of a captured machine holds one GPU or link per line, links below their GPU:
//
//   gpu dev=0 busid=0000:1b:00.0 sm=90 gdr=1
//   pci id=10de:2330:10de:16c1 generation=5 width=16
//   nvlink target=0000:06:00.0 count=4
//   c2c bw=44712 count=10

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/rules/changes.h"
#include "planner/topology/detect_cpu.h"
#include "planner/topology/detect_pci.h"
#include "planner/topology/document.h"

namespace xylem::topology {

struct GpuFacts {
  struct Nvlink {
    std::string target;  // bus id of the other end, in small letters; empty if the driver hides it
    int count = 0;
  };

  int dev = 0;        // NVML's number
  std::string busId;  // "0000:1b:00.0"
  int sm = 0;         // compute capability, major*10+minor
  bool gdr = true;    // the driver supports GPUDirect RDMA
  // The PCI device and its link at the moment, as NVML tells them; absent in a captured machine's file without them.
  using Pci = ToldPci;
  std::optional<Pci> pci;
  std::vector<Nvlink> nvlinks;
  int c2cBandwidth = 0;  // MB/s of one chip-to-chip link
  int c2cCount = 0;
};

struct GpuInventory {
  std::vector<GpuFacts> gpus;        // in the order of `dev`
  std::vector<std::string> remarks;  // facts that could not be read, for a person
};

class GpuSource {
 public:
  virtual ~GpuSource() = default;
  virtual GpuInventory read() const = 0;
};

// GPUs from NVML; `library` is the name of its shared library. Without the library there are no GPUs. If the
// library does not start there are none either, and a remark says so.
std::unique_ptr<GpuSource> nvmlGpus(std::string library = "libnvidia-ml.so.1");
// GPUs from a file in the format above. Without the file there are no GPUs; a malformed file is an
// InputError.
std::unique_ptr<GpuSource> capturedGpus(std::filesystem::path file);
// The source for a root folder: NVML for "/", which is this machine, else the captured file.
std::unique_ptr<GpuSource> gpuSourceOf(const std::filesystem::path& root);

// The text of a captured machine's file.
std::string writeGpuFacts(std::span<const GpuFacts> gpus);
// The file's path below a root folder.
constexpr const char* kCapturedGpusFile = "xylem/gpus";

// The class codes of GPUs start with this.
constexpr const char* kGpuClass = "0x03";

// Adds a gpu element with its links to the PCI tree, or completes the one that a topology file describes, and
// returns it. `rank` becomes its rank.
ElementId addGpu(Document& document, PciTree& pci, const GpuFacts& facts, int rank,
                 const rules::RuleSet& rules);

// An NVLink's other end as GpuFacts hold it: in small letters, empty if the text cannot be read.
std::string readableTarget(std::string busId);

// Adds max(count, one per core) host devices. Device i belongs to core i * cores / devices, so neighbouring
// devices share a node.
void addHostDevices(Document& document, CpuElements& cpus, PciTree& pci, const CpuLayout& layout, int count);

}  // namespace xylem::topology
