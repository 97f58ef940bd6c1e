#include "cli/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/beside_command.h"
#include "core/edit_distance.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

namespace fs = std::filesystem;

fs::path zooFolder() { return besideCommand({"share/xylem/topologies", "topologies"}, "dgxh100.xml"); }

// Returns the comment that follows the root in the first line.
std::string commentOf(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  const std::size_t begin = line.find("<!--");
  const std::size_t end = line.find("-->");
  if (begin == std::string::npos || end == std::string::npos || end < begin + 5) return "";
  std::string text = line.substr(begin + 4, end - begin - 4);
  text.erase(0, text.find_first_not_of(' '));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::vector<ZooMachine> zooMachines() {
  std::vector<ZooMachine> machines;
  const fs::path folder = zooFolder();
  if (folder.empty()) return machines;
  std::error_code error;
  for (const fs::path& place : {folder, folder / "misconfigured"})
    for (const auto& entry : fs::directory_iterator(place, error))
      if (entry.path().extension() == ".xml")
        machines.push_back({entry.path().stem().string(), commentOf(entry.path()), entry.path().string()});
  std::sort(machines.begin(), machines.end(),
            [](const ZooMachine& a, const ZooMachine& b) { return a.name < b.name; });
  return machines;
}

std::string zooFile(const std::string& name) {
  const std::string stem = name.ends_with(".xml") ? name.substr(0, name.size() - 4) : name;
  if (stem.empty() || stem.find('/') != std::string::npos) return "";
  for (const ZooMachine& machine : zooMachines())
    if (machine.name == stem) return machine.file;
  return "";
}

std::string machineFile(const std::string& file) {
  std::error_code error;
  if (file.find('/') != std::string::npos || fs::exists(file, error)) return file;
  if (std::string known = zooFile(file); !known.empty()) return known;
  std::vector<std::string> names;
  for (const ZooMachine& machine : zooMachines()) names.push_back(machine.name);
  const std::string stem = file.ends_with(".xml") ? file.substr(0, file.size() - 4) : file;
  const std::string nearest = nearestWord(stem, names);
  throw InputError({file, 0}, "no such file, and no such machine in the zoo",
                   "a topology file, or a name that `xylem zoo` lists" +
                       (nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

}  // namespace xylem::cli
