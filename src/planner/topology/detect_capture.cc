#include "planner/topology/detect_capture.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <set>

#include "core/error.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_net.h"
#include "planner/topology/detect_rdma.h"

namespace xylem::topology {
namespace {

namespace fs = std::filesystem;

// Enough of the longest file, /proc/cpuinfo, of which detection reads the first CPU.
constexpr std::size_t kMaxLines = 1000;

constexpr const char* kSingleFiles[] = {
    "proc/cpuinfo",
    "proc/driver/nvidia/version",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/random/boot_id",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/present",
    "sys/devices/system/node/online",
    "sys/kernel/mm/memory_peers/nv_mem/version",
    "sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "sys/module/nvidia_peermem/version",
    "var/run/nvidia-topologyd/virtualTopology.xml",
};
constexpr const char* kCpuFiles[] = {"core_cpus", "core_id",      "core_siblings",       "die_cpus",
                                     "die_id",    "package_cpus", "physical_package_id", "thread_siblings"};
constexpr const char* kNodeFiles[] = {"cpumap", "distance", "meminfo"};
constexpr const char* kPciFiles[] = {
    "class",          "vendor",         "device",   "subsystem_vendor", "subsystem_device",
    "max_link_speed", "max_link_width", "numa_node"};
constexpr const char* kInterfaceFiles[] = {"flags", "ifindex", "operstate", "speed"};
constexpr const char* kRdmaFiles[] = {"node_guid", "sys_image_guid"};
constexpr const char* kPortFiles[] = {"link_layer", "rate", "state"};
// Devices that can be part of a description: network, display, bridges and switches of every kind.
constexpr const char* kPciClasses[] = {"0x02", "0x03", "0x06"};
constexpr const char* kSwitchLinks = "sys/kernel/pci_switch_link/virtual_switch_links";

class Capture {
 public:
  Capture(const fs::path& root, fs::path folder) : root_(realPath(root)), folder_(std::move(folder)) {
    std::error_code error;
    if (fs::exists(folder_, error) && !fs::is_empty(folder_, error))
      throw Error(ResultCode::kInvalidArgument, "cannot capture into {}: it is not an empty folder",
                  folder_.string());
  }

  void run(std::span<const GpuFacts> gpus, std::span<const RdmaFacts> rdma) {
    for (const char* file : kSingleFiles) copyFile(file);
    addFolders("sys/devices/system/cpu", "cpu", "topology", kCpuFiles);
    addFolders("sys/devices/system/node", "node", "", kNodeFiles);
    addPci();
    addInterfaces();
    addRdma();
    // A data-direct device has a class that is no network card's.
    for (const RdmaFacts& facts : rdma)
      if (!facts.directBusId.empty()) addPciDevice(facts.directBusId);
    for (const std::string& from : listFolder(root_ / kSwitchLinks))
      for (const std::string& to : listFolder(root_ / kSwitchLinks / from))
        write(fs::path(kSwitchLinks) / from / to, "");
    if (!gpus.empty()) write(kCapturedGpusFile, writeGpuFacts(gpus));
    if (!rdma.empty()) write(kCapturedRdmaFile, writeRdmaFacts(rdma));
  }

 private:
  void write(const fs::path& file, const std::string& text) {
    const fs::path path = folder_ / file;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream out(path);
    if (!(out << text) || !out.flush())
      throw Error(ResultCode::kSystemError, "cannot write {}: {}", path.string(), errnoText(errno));
  }

  void copyFile(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(root_ / file, error)) return;
    std::string text;
    for (const std::string& line : readLines(root_ / file, kMaxLines)) text += line + "\n";
    if (!text.empty()) write(file, text);
  }

  template <std::size_t N>
  void copyFiles(const fs::path& from, const char* const (&names)[N]) {
    for (const char* name : names) copyFile(from / name);
  }

  // Copies a symbolic link with its own text, as the kernel's links are relative.
  void copyLink(const fs::path& link) {
    std::error_code error;
    const fs::path target = fs::read_symlink(root_ / link, error);
    if (error) return;
    fs::create_directories((folder_ / link).parent_path(), error);
    fs::create_symlink(target, folder_ / link, error);
  }

  // The target of a link as a path below the root; empty if the link is broken.
  fs::path placeOf(const fs::path& link) const {
    const fs::path place = realPath(root_ / link);
    return place.empty() ? place : place.lexically_relative(root_);
  }

  // Copies files of the numbered folders: of cpu0, cpu1, …, not of cpufreq.
  template <std::size_t N>
  void addFolders(const fs::path& parent, const std::string& prefix, const char* below,
                  const char* const (&names)[N]) {
    for (const std::string& name : listFolder(root_ / parent)) {
      const bool numbered = name.starts_with(prefix) && name.size() > prefix.size() &&
                            name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
      if (numbered) copyFiles(parent / name / below, names);
    }
  }

  void addPci() {
    for (const std::string& busId : listFolder(root_ / "sys/bus/pci/devices")) {
      const std::string code = readLine(root_ / "sys/bus/pci/devices" / busId / "class");
      for (const char* wanted : kPciClasses)
        if (code.starts_with(wanted)) addPciDevice(busId);
    }
  }

  void addPciDevice(const std::string& busId) {
    if (!pci_.insert(busId).second) return;
    const fs::path link = fs::path("sys/bus/pci/devices") / busId;
    const fs::path place = placeOf(link);
    if (place.empty()) return;
    copyLink(link);
    addDevice(place);
    copyFiles(place, kPciFiles);
    // The port it is plugged into limits its link, whatever the port's class.
    if (const std::string port = place.parent_path().filename().string(); isBusId(port)) addPciDevice(port);
  }

  void addDevice(const fs::path& place) {
    std::error_code error;
    fs::create_directories(folder_ / place, error);
    copyLink(place / "subsystem");
  }

  // The device that a network or RDMA device belongs to, such as a PCI function.
  void addOwner(const fs::path& place) {
    copyLink(place / "device");
    const fs::path owner = placeOf(place / "device");
    if (owner.empty()) return;
    if (isBusId(owner.filename().string()))
      addPciDevice(owner.filename().string());
    else
      addDevice(owner);
  }

  void addInterfaces() {
    for (const NetInterface& interface : readInterfaces(root_)) {
      const fs::path link = fs::path("sys/class/net") / interface.name;
      const fs::path place = placeOf(link);
      copyLink(link);
      copyFiles(place, kInterfaceFiles);
      addOwner(place);
    }
  }

  void addRdma() {
    for (const VerbsInterface& verbs : verbsInterfaces(root_)) {
      const fs::path interface = fs::path("sys/class/infiniband_verbs") / verbs.name;
      copyLink(interface);
      copyFile(placeOf(interface) / "ibdev");
      const fs::path link = fs::path("sys/class/infiniband") / verbs.device;
      const fs::path place = placeOf(link);
      if (place.empty()) continue;
      copyLink(link);
      copyFiles(place, kRdmaFiles);
      for (const std::string& port : listFolder(root_ / place / "ports"))
        copyFiles(place / "ports" / port, kPortFiles);
      addOwner(place);
    }
  }

  const fs::path root_;
  const fs::path folder_;
  std::set<std::string> pci_;
};

}  // namespace

void captureMachine(const fs::path& root, std::span<const GpuFacts> gpus, std::span<const RdmaFacts> rdma,
                    const fs::path& folder) {
  Capture(root, folder).run(gpus, rdma);
}

}  // namespace xylem::topology
