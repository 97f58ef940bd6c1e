#pragma once
// Where the facts about GPUs come from that the kernel's files do not tell: which ones a job may use, their
// compute capability, NVLinks and chip-to-chip links.
//
//   const std::unique_ptr<GpuSource> source = gpuSourceOf("/");          // NVIDIA's management library, NVML
//   const std::unique_ptr<GpuSource> source = gpuSourceOf("captured");   // captured/xylem/gpus
//   for (const GpuFacts& gpu : source->read().gpus) ... gpu.busId, gpu.sm ...
//
// The file of a captured machine holds one GPU or link per line, links below their GPU:
//
//   gpu dev=0 busid=0000:1b:00.0 sm=90 gdr=1
//   nvlink target=0000:06:00.0 count=4
//   c2c bw=44712 count=10

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace xylem {

struct GpuFacts {
  struct Nvlink {
    std::string target;  // bus id of the other end, in small letters
    int count = 0;
  };

  int dev = 0;        // NVML's number
  std::string busId;  // "0000:1b:00.0"
  int sm = 0;         // compute capability, major*10+minor
  bool gdr = true;    // the driver supports GPUDirect RDMA
  std::vector<Nvlink> nvlinks;
  int c2cBandwidth = 0;  // MB/s of one chip-to-chip link
  int c2cCount = 0;
};

struct GpuInventory {
  std::vector<GpuFacts> gpus;        // in the order of `dev`
  std::vector<std::string> remarks;  // what could not be read, for a person
};

class GpuSource {
 public:
  virtual ~GpuSource() = default;
  virtual GpuInventory read() const = 0;
};

// NVML by the name of its library. Without the library there are no GPUs; with one that does not start there
// are none either, and a remark.
std::unique_ptr<GpuSource> nvmlGpus(std::string library = "libnvidia-ml.so.1");
// A file in the format above. Without the file there are no GPUs; InputError for one that is malformed.
std::unique_ptr<GpuSource> capturedGpus(std::filesystem::path file);
// The one for a root folder: "/" is this machine.
std::unique_ptr<GpuSource> gpuSourceOf(const std::filesystem::path& root);

// The file's text.
std::string writeGpuFacts(std::span<const GpuFacts> gpus);
// The file below a root folder.
constexpr const char* kCapturedGpusFile = "xylem/gpus";

}  // namespace xylem
