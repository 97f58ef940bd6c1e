#include "planner/topology/machine_recipe.h"

#include <fmt/core.h>

#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "planner/topology/detect_gpus.h"
#include "planner/topology/detect_verbs.h"

namespace xylem::testing {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

// A line's words; one in double quotes may hold blanks.
struct Line {
  explicit Line(const std::string& text) : depth(text.find_first_not_of(' ')) {
    std::istringstream in(text);
    for (std::string word; in >> std::quoted(word);) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos)
        words.push_back(word);
      else
        values[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  std::string value(const std::string& key, const std::string& fallback = "") const {
    const auto found = values.find(key);
    return found == values.end() ? fallback : found->second;
  }

  std::size_t depth;
  std::vector<std::string> words;
  Files values;
};

class Builder {
 public:
  explicit Builder(CapturedMachine& machine) : machine_(machine) {}

  void add(const std::string& text) {
    const Line line(text);
    if (line.words.empty() || line.words[0].starts_with('#')) return;
    const std::string& kind = line.words[0];
    if (kind == "cpus")
      machine_.addCpus({std::stoi(line.value("nodes", "1")), std::stoi(line.value("cores", "1"))});
    else if (kind == "cpuinfo")
      addCpuInfo(line);
    else if (kind == "rdma")
      addRdma(line);
    else if (kind == "net")
      addNet(line);
    else if (kind == "gpu" || kind == "pci" || kind == "nvlink" || kind == "c2c")
      gpus_ += text + "\n";
    else if (kind == "verbs")
      ports_ += "rdma" + text.substr(kind.size()) + "\n";
    else if (kind == "port")
      ports_ += text + "\n";
    else if (kind == "file")
      machine_.write(line.words.at(1), line.words.size() > 2 ? line.words[2] : "");
    else
      addDevice(line);
  }

  void finish() {
    if (!gpus_.empty()) machine_.write(topology::kCapturedGpusFile, gpus_);
    if (!ports_.empty()) machine_.write(topology::kCapturedRdmaFile, ports_);
  }

 private:
  void addCpuInfo(const Line& line) {
    std::string text;
    for (const auto& [key, value] : line.values) text += fmt::format("{}\t: {}\n", key, value);
    machine_.write("proc/cpuinfo", text);
  }

  void addDevice(const Line& line) {
    const std::size_t level = line.depth / 2;
    if (level > chain_.size()) throw std::runtime_error("a device below nothing: " + line.words[0]);
    chain_.resize(level);
    chain_.push_back(line.words[0]);
    std::string path;
    for (const std::string& part : chain_) path += (path.empty() ? "" : "/") + part;
    pathOf_[line.words[0]] = path;
    if (level == 0) return;
    Files files;
    for (const auto& [key, value] : line.values) {
      if (key == "link") {
        const std::size_t x = value.find('x');
        files["max_link_speed"] = value.substr(0, x) + ".0 GT/s PCIe";
        files["max_link_width"] = value.substr(x + 1);
      } else if (key == "id") {
        std::istringstream parts(value);
        for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
          if (std::string part; std::getline(parts, part, ':')) files[name] = "0x" + part;
      } else {
        files[key == "numa" ? "numa_node" : key] = value;
      }
    }
    machine_.addPci(path, files);
  }

  std::string deviceOf(const Line& line) const {
    const std::string busId = line.value("on");
    if (busId.empty()) return "";
    const auto found = pathOf_.find(busId);
    if (found == pathOf_.end()) throw std::runtime_error("no device " + busId);
    return found->second;
  }

  void addRdma(const Line& line) {
    const std::string& name = line.words.at(1);
    const fs::path device = fs::path("sys/devices") / deviceOf(line);
    const fs::path folder = device / "infiniband" / name;
    machine_.write(folder / "sys_image_guid", line.value("guid"));
    const fs::path port = folder / "ports" / line.value("port", "1");
    machine_.write(port / "state", line.value("state", "4: ACTIVE"));
    machine_.write(port / "rate", line.value("rate"));
    machine_.write(port / "link_layer", line.value("layer", "InfiniBand"));
    const fs::path verbs = device / "infiniband_verbs" / fmt::format("uverbs{}", verbs_);
    machine_.write(verbs / "ibdev", name);
    machine_.link(folder / "device", "../..");
    machine_.linkTo(fs::path("sys/class/infiniband") / name, folder);
    machine_.linkTo(fs::path("sys/class/infiniband_verbs") / fmt::format("uverbs{}", verbs_++), verbs);
  }

  void addNet(const Line& line) {
    const std::string& name = line.words.at(1);
    const std::string device = deviceOf(line);
    machine_.addInterface(name, std::stoi(line.value("index", "1")), device);
    if (const std::string speed = line.value("speed"); !speed.empty())
      machine_.write(fs::path("sys/class/net") / name / "speed", speed);
  }

  CapturedMachine& machine_;
  std::vector<std::string> chain_;
  std::map<std::string, std::string> pathOf_;
  std::string gpus_;
  std::string ports_;
  int verbs_ = 0;
};

}  // namespace

void buildMachine(CapturedMachine& machine, const std::string& recipe) {
  Builder builder(machine);
  std::istringstream lines(recipe);
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(' ') != std::string::npos) builder.add(line);
  builder.finish();
}

std::string readMachineFile(const std::string& name, const std::string& extension) {
  const fs::path path = fs::path(XYLEM_SOURCE_DIR) / "tests/planner/topology/machines" / (name + extension);
  std::ifstream file(path);
  if (!file.is_open()) throw std::runtime_error("cannot open " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace xylem::testing
