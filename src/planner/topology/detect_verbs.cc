// The functions of the libraries are declared as their manual pages describe them, so that building needs no headers.
#include "planner/topology/detect_verbs.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/shared_library.h"
#include "planner/topology/detect_facts.h"
#include "planner/topology/detect_pci.h"

namespace xylem::topology {
namespace {

// Handles of libibverbs; nothing here looks inside.
using Device = void*;
using Context = void*;
using Domain = void*;
using Region = void*;

// Ports have numbers up to 255; no card has this many.
constexpr std::uint32_t kMaxPorts = 8;
constexpr std::uint64_t kMbpsPerUnit = 100;  // of a port's speed
constexpr std::uint64_t kMaxSpeedUnits = 10'000'000;

struct Libraries {
  // libmlx5 registers itself with libibverbs when it is loaded, which cannot be undone: both stay.
  explicit Libraries(const VerbsLibraries& names)
      : verbs(names.verbs, SharedLibrary::Stay::kForEver), mlx5(names.mlx5, SharedLibrary::Stay::kForEver) {}

  bool listsDevices() const {
    return devices != nullptr && freeDevices != nullptr && name != nullptr && open != nullptr &&
           close != nullptr;
  }
  bool tellsDirectPaths() const { return isMlx5 != nullptr && directPath != nullptr; }

  SharedLibrary verbs, mlx5;
  Device* (*devices)(int*) = verbs.function<Device*(int*)>("ibv_get_device_list");
  void (*freeDevices)(Device*) = verbs.function<void(Device*)>("ibv_free_device_list");
  const char* (*name)(Device) = verbs.function<const char*(Device)>("ibv_get_device_name");
  Context (*open)(Device) = verbs.function<Context(Device)>("ibv_open_device");
  int (*close)(Context) = verbs.function<int(Context)>("ibv_close_device");
  Domain (*allocate)(Context) = verbs.function<Domain(Context)>("ibv_alloc_pd");
  int (*release)(Domain) = verbs.function<int(Domain)>("ibv_dealloc_pd");
  Region (*registerDmaBuf)(Domain, std::uint64_t, std::size_t, std::uint64_t, int, int) =
      verbs.function<Region(Domain, std::uint64_t, std::size_t, std::uint64_t, int, int)>(
          "ibv_reg_dmabuf_mr");
  int (*portSpeed)(Context, std::uint32_t, std::uint64_t*) =
      verbs.function<int(Context, std::uint32_t, std::uint64_t*)>("ibv_query_port_speed");
  bool (*isMlx5)(Device) = mlx5.function<bool(Device)>("mlx5dv_is_supported");
  int (*directPath)(Context, char*, std::size_t) =
      mlx5.function<int(Context, char*, std::size_t)>("mlx5dv_get_data_direct_sysfs_path");
};

// The bus id at the end of a path of /sys; empty if there is none.
std::string directBusId(const Libraries& libraries, Device device, Context context) {
  if (!libraries.tellsDirectPaths() || !libraries.isMlx5(device)) return "";
  constexpr std::size_t kMaxPath = 4096;
  std::string path(kMaxPath, '\0');
  if (libraries.directPath(context, path.data(), path.size()) != 0) return "";
  path.resize(path.find('\0') == std::string::npos ? path.size() : path.find('\0'));
  const std::string busId = std::filesystem::path(path).filename().string();
  return isBusId(busId) ? busId : "";
}

// A device that knows DMA-BUF says that the file is none; one that does not says that it cannot do it.
bool takesDmaBuf(const Libraries& libraries, Context context) {
  if (libraries.allocate == nullptr || libraries.release == nullptr || libraries.registerDmaBuf == nullptr)
    return false;
  const Domain domain = libraries.allocate(context);
  if (domain == nullptr) return false;
  errno = 0;
  constexpr int kNoFile = -1;
  const bool refused = libraries.registerDmaBuf(domain, 0, 0, 0, kNoFile, 0) == nullptr;
  const int reason = errno;
  libraries.release(domain);
  return refused && reason != EOPNOTSUPP && reason != EPROTONOSUPPORT;
}

std::map<int, int> speedsOf(const Libraries& libraries, Context context) {
  std::map<int, int> speeds;
  if (libraries.portSpeed == nullptr) return speeds;
  for (std::uint32_t port = 1; port <= kMaxPorts; ++port) {
    std::uint64_t units = 0;
    if (libraries.portSpeed(context, port, &units) != 0 || units == 0 || units > kMaxSpeedUnits) continue;
    speeds[static_cast<int>(port)] = static_cast<int>(units * kMbpsPerUnit);
  }
  return speeds;
}

class VerbsFacts : public RdmaFactSource {
 public:
  explicit VerbsFacts(VerbsLibraries names) : names_(std::move(names)) {}

  std::vector<RdmaFacts> read() const override {
    std::vector<RdmaFacts> found;
    const Libraries libraries(names_);
    // Opening a device takes milliseconds, which libraries without both functions would waste.
    if (!libraries.listsDevices() || (!libraries.tellsDirectPaths() && libraries.portSpeed == nullptr))
      return found;
    int count = 0;
    Device* const devices = libraries.devices(&count);
    if (devices == nullptr) return found;
    for (int i = 0; i < count; ++i) {
      const Context context = libraries.open(devices[i]);
      if (context == nullptr) continue;
      RdmaFacts facts;
      facts.device = libraries.name(devices[i]);
      facts.directBusId = directBusId(libraries, devices[i], context);
      facts.dmaBuf = !facts.directBusId.empty() && takesDmaBuf(libraries, context);
      facts.speeds = speedsOf(libraries, context);
      libraries.close(context);
      if (!facts.directBusId.empty() || !facts.speeds.empty()) found.push_back(std::move(facts));
    }
    libraries.freeDevices(devices);
    return found;
  }

 private:
  VerbsLibraries names_;
};

class CapturedRdmaFacts : public RdmaFactSource {
 public:
  explicit CapturedRdmaFacts(std::filesystem::path file) : file_(std::move(file)) {}

  std::vector<RdmaFacts> read() const override {
    std::vector<RdmaFacts> found;
    forEachFact(file_, [&](const FactLine& line) {
      if (line.kind() == "rdma") {
        RdmaFacts facts;
        facts.device = line.text("name");
        if (line.has("direct")) facts.directBusId = line.busId("direct");
        facts.dmaBuf = line.number("dmabuf", 0) != 0;
        found.push_back(std::move(facts));
      } else if (line.kind() == "port") {
        if (found.empty()) line.fail("`port`", "a line `rdma name=…` first");
        found.back().speeds[line.number("number")] = line.number("speed");
      } else {
        line.fail("`" + line.kind() + "`", "rdma or port");
      }
    });
    return found;
  }

 private:
  std::filesystem::path file_;
};

}  // namespace

std::unique_ptr<RdmaFactSource> verbsFacts(VerbsLibraries libraries) {
  return std::make_unique<VerbsFacts>(std::move(libraries));
}

std::unique_ptr<RdmaFactSource> capturedRdmaFacts(std::filesystem::path file) {
  return std::make_unique<CapturedRdmaFacts>(std::move(file));
}

std::unique_ptr<RdmaFactSource> rdmaFactsOf(const std::filesystem::path& root) {
  return root == "/" ? verbsFacts() : capturedRdmaFacts(root / kCapturedRdmaFile);
}

std::string writeRdmaFacts(std::span<const RdmaFacts> devices) {
  std::string text;
  for (const RdmaFacts& facts : devices) {
    text += "rdma name=" + facts.device;
    if (!facts.directBusId.empty())
      text += fmt::format(" direct={} dmabuf={}", facts.directBusId, facts.dmaBuf ? 1 : 0);
    text += '\n';
    for (const auto& [port, speed] : facts.speeds)
      text += fmt::format("port number={} speed={}\n", port, speed);
  }
  return text;
}

}  // namespace xylem::topology
