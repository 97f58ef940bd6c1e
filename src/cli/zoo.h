#pragma once
// The zoo: the machines that Xylem brings along, by name.
//
//   zooFile("dgxh100")   ->   "/usr/share/xylem/topologies/dgxh100.xml"; empty if there is no such machine
//   for (const ZooMachine& machine : zooMachines()) ... machine.name, machine.what ...

#include <string>
#include <vector>

namespace xylem::cli {

struct ZooMachine {
  std::string name;  // "dgxh100"
  std::string what;  // the comment of its first line; may be empty
  std::string file;
};

// In the order of their names; empty if the machines are not installed.
std::vector<ZooMachine> zooMachines();

// `name` may end in .xml.
std::string zooFile(const std::string& name);

// The file if it exists or its name holds a folder; else the machine of the zoo. Throws InputError that
// offers the nearest name if there is neither.
std::string machineFile(const std::string& file);

}  // namespace xylem::cli
