#pragma once
// Facts about RDMA devices that the kernel's files do not tell: the libraries for RDMA know the PCI device by which a card
// reaches GPU memory without the CPU (data-direct), whether it takes DMA-BUF, and the speed at which a port runs.
//
//   const auto source = rdmaFactsOf("/");          // asks libibverbs and libmlx5
//   const auto source = rdmaFactsOf("captured");   // reads the file captured/xylem/rdma
//   for (const RdmaFacts& facts : source->read()) ... facts.device, facts.directBusId ...
//
// The file of a captured machine holds one device or port per line, ports below their device:
//
//   rdma name=mlx5_0 direct=0000:05:00.0 dmabuf=1
//   port number=1 speed=400000

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace xylem::topology {

struct RdmaFacts {
  std::string device;         // mlx5_0
  std::string directBusId;    // of its data-direct PCI device; empty if it has none
  bool dmaBuf = false;        // reaches GPU memory by DMA-BUF
  std::map<int, int> speeds;  // Mb/s by port, of ports whose speed the library tells

  bool operator==(const RdmaFacts&) const = default;
};

class RdmaFactSource {
 public:
  virtual ~RdmaFactSource() = default;
  // Devices about which there is nothing to tell may be absent.
  virtual std::vector<RdmaFacts> read() const = 0;
};

// The libraries' file names. Without one of them, or where it lacks a function, it tells nothing.
struct VerbsLibraries {
  std::string verbs = "libibverbs.so.1";
  std::string mlx5 = "libmlx5.so.1";
};

std::unique_ptr<RdmaFactSource> verbsFacts(VerbsLibraries libraries = {});
// Without the file there are no facts; a malformed file is an InputError.
std::unique_ptr<RdmaFactSource> capturedRdmaFacts(std::filesystem::path file);
// The source for a root folder: the libraries for "/", which is this machine, else the captured file.
std::unique_ptr<RdmaFactSource> rdmaFactsOf(const std::filesystem::path& root);

// The text of a captured machine's file.
std::string writeRdmaFacts(std::span<const RdmaFacts> devices);
// The file's path below a root folder.
constexpr const char* kCapturedRdmaFile = "xylem/rdma";

}  // namespace xylem::topology
