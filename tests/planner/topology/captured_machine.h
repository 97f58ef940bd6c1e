#pragma once
// A small /sys and /proc made for one test, in a temporary folder that the destructor removes.
//
//   CapturedMachine machine;
//   machine.addCpus({.nodes = 2, .coresPerNode = 4});
//   machine.addPci("pci0000:00/0000:00:01.0/0000:01:00.0", {{"class", "0x020000"}});
//   machine.addInterface("eth0", 2, "pci0000:00/0000:00:01.0/0000:01:00.0");
//   detectTopology({.root = machine.root()});

#include <filesystem>
#include <map>
#include <string>

namespace xylem::testing {

class CapturedMachine {
 public:
  CapturedMachine();
  ~CapturedMachine();
  CapturedMachine(const CapturedMachine&) = delete;
  CapturedMachine& operator=(const CapturedMachine&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void write(const std::filesystem::path& file, const std::string& line);

  // Makes a symbolic link with exactly this target.
  void link(const std::filesystem::path& link, const std::filesystem::path& target);
  // Makes a relative symbolic link to another place of the machine.
  void linkTo(const std::filesystem::path& link, const std::filesystem::path& place);

  struct Cpus {
    int nodes = 1;
    int coresPerNode = 2;
    int threadsPerCore = 1;
  };
  void addCpus(const Cpus& cpus);
  // Adds the last device of `path`, a chain of bridges below sys/devices, with a link in sys/bus/pci.
  void addPci(const std::string& path, const std::map<std::string, std::string>& files);
  // Adds an interface that is up: on a device below sys/devices, or a virtual one if `device` is empty.
  void addInterface(const std::string& name, int index, const std::string& device = "");

 private:
  std::filesystem::path root_;
};

}  // namespace xylem::testing
