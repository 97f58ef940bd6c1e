#include "planner/topology/captured_machine.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <fstream>
#include <stdexcept>

namespace xylem::testing {

namespace fs = std::filesystem;

CapturedMachine::CapturedMachine() {
  std::string name = (fs::temp_directory_path() / "xylem-machine-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  root_ = name;
}

CapturedMachine::~CapturedMachine() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void CapturedMachine::write(const fs::path& file, const std::string& line) {
  fs::create_directories((root_ / file).parent_path());
  std::ofstream(root_ / file) << line << '\n';
}

void CapturedMachine::link(const fs::path& link, const fs::path& target) {
  fs::create_directories((root_ / link).parent_path());
  fs::create_directory_symlink(target, root_ / link);
}

void CapturedMachine::linkTo(const fs::path& link, const fs::path& place) {
  this->link(link, fs::relative(root_ / place, (root_ / link).parent_path()));
}

void CapturedMachine::addCpus(const Cpus& cpus) {
  const int perNode = cpus.coresPerNode * cpus.threadsPerCore;
  const fs::path system = "sys/devices/system";
  write(system / "cpu/online", fmt::format("0-{}", cpus.nodes * perNode - 1));
  write(system / "node/online", fmt::format("0-{}", cpus.nodes - 1));
  const auto mask = [](int first, int count) { return fmt::format("{:08x}", ((1u << count) - 1) << first); };
  for (int node = 0; node < cpus.nodes; ++node) {
    const fs::path folder = system / fmt::format("node/node{}", node);
    write(folder / "cpumap", mask(node * perNode, perNode));
    write(folder / "meminfo", fmt::format("Node {} MemTotal: 1000 kB", node));
    for (int cpu = 0; cpu < perNode; ++cpu) {
      const int number = node * perNode + cpu;
      const int core = cpu / cpus.threadsPerCore;
      const fs::path topology = system / fmt::format("cpu/cpu{}/topology", number);
      write(topology / "physical_package_id", std::to_string(node));
      write(topology / "core_id", std::to_string(core));
      write(topology / "core_siblings", mask(node * perNode, perNode));
      write(topology / "thread_siblings",
            mask(node * perNode + core * cpus.threadsPerCore, cpus.threadsPerCore));
    }
  }
}

void CapturedMachine::addPci(const std::string& path, const std::map<std::string, std::string>& files) {
  const fs::path device = root_ / "sys/devices" / path;
  fs::create_directories(device);
  for (const auto& [name, line] : files) write("sys/devices/" + path + "/" + name, line);
  const fs::path place = fs::path("sys/devices") / path;
  linkTo(fs::path("sys/bus/pci/devices") / device.filename(), place);
  link(place / "subsystem", fs::relative(root_ / "sys/bus/pci", device));
}

void CapturedMachine::addInterface(const std::string& name, int index, const std::string& device) {
  const fs::path folder =
      device.empty() ? "sys/devices/virtual/net/" + name : "sys/devices/" + device + "/net/" + name;
  write(folder / "flags", name == "lo" ? "0x9" : "0x1003");
  write(folder / "operstate", name == "lo" ? "unknown" : "up");
  write(folder / "ifindex", std::to_string(index));
  if (!device.empty()) link(folder / "device", "../..");
  linkTo(fs::path("sys/class/net") / name, folder);
}

}  // namespace xylem::testing
