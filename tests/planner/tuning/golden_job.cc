#include "planner/tuning/golden_job.h"

#include <algorithm>
#include <fstream>

#include "golden/files.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

template <typename Value, std::size_t N>
Value named(const std::string& text, const std::array<Value, N>& values) {
  const auto found = std::find_if(values.begin(), values.end(), [&](Value v) { return name(v) == text; });
  if (found == values.end()) throw std::runtime_error("unknown name " + text);
  return *found;
}

search::Pattern pattern(const std::string& text) {
  constexpr std::array kAll = {search::Pattern::kBalancedTree, search::Pattern::kSplitTree,
                               search::Pattern::kTree,         search::Pattern::kRing,
                               search::Pattern::kNvls,         search::Pattern::kCollnetDirect};
  return named(text, kAll);
}

topology::CpuArch arch(const std::string& text) {
  constexpr std::array kAll = {topology::CpuArch::kUndefined, topology::CpuArch::kUnknown,
                               topology::CpuArch::kX86, topology::CpuArch::kPower, topology::CpuArch::kArm};
  return named(text, kAll);
}

topology::CpuVendor vendor(const std::string& text) {
  constexpr std::array kAll = {topology::CpuVendor::kUndefined, topology::CpuVendor::kUnknown,
                               topology::CpuVendor::kIntel, topology::CpuVendor::kAmd,
                               topology::CpuVendor::kZhaoxin};
  return named(text, kAll);
}

// Plans of many hosts do not list nodes: reads them from the plan of one such host.
std::optional<json> nodesOf(const json& host, const fs::path& directory, const std::string& topology) {
  if (host.contains("nodes")) return host["nodes"];
  const std::string stem = fs::path(topology).stem().string();
  for (const char* folder : {".", "../own", "../cloud", "../nccl"}) {
    const fs::path other = directory / folder / (stem + ".n1.json");
    if (!fs::exists(other)) continue;
    const json plan = json::parse(std::ifstream(other));
    if (plan.contains("host") && plan["host"].contains("nodes")) return plan["host"]["nodes"];
  }
  return std::nullopt;
}

// The kind of the job is mixed if ranks see different kinds.
template <typename Kind>
void join(Kind& all, Kind other, bool first) {
  all = first || all == other ? other : Kind::kMixed;
}

bool addHost(const json& host, const fs::path& directory, const std::string& topology, bool first,
             tuning::TuningInput& input) {
  const auto nodes = nodesOf(host, directory, topology);
  if (!nodes) return false;
  const auto find = [&](const char* type) {
    return std::find_if(nodes->begin(), nodes->end(), [&](const json& node) { return node["type"] == type; });
  };
  if (first) input.hasNvs = find("NVS") != nodes->end();
  if (const auto cpu = find("CPU"); cpu != nodes->end()) {
    join(input.arch, arch((*cpu)["arch"]), first);
    join(input.vendor, vendor((*cpu)["vendor"]), first);
  }
  return true;
}

tuning::TuningGraph graph(const json& merged, const json* own) {
  tuning::TuningGraph graph;
  graph.nChannels = merged["nChannels"];
  graph.sameChannels = merged["sameChannels"].get<int>() != 0;
  graph.bwIntra = merged["bwIntra"];
  graph.bwInter = merged["bwInter"];
  graph.typeIntra = paths::parsePathType(merged["typeIntra"].get<std::string>()).value();
  graph.typeInter = paths::parsePathType(merged["typeInter"].get<std::string>()).value();
  if (own != nullptr) {
    graph.pattern = pattern((*own)["pattern"]);
    graph.latencyInter = (*own)["latencyInter"];
  }
  return graph;
}

bool readInput(const json& plan, const fs::path& directory, tuning::TuningInput& input) {
  const json& job = plan["job"];
  input.rules = golden::rulesOf(plan["input"]);
  input.ranks = job["ranks"];
  input.nodes = job["nodes"];
  input.maxLocalRanks = job["maxLocalRanks"];
  input.lowestSm = job["minComputeCapability"];
  input.highestSm = job["maxComputeCapability"];
  input.collnet = job["collnet"];
  input.collnetHeads = input.collnetDirectHeads = job["collnetHeads"];
  input.nvls = job["nvls"];
  input.nChannels = plan["connections"]["nChannels"];
  input.nvlsChannels = plan["connections"]["nvlsChannels"];

  const bool mixed = plan.contains("hosts");
  const json& first = mixed ? plan["hosts"][0] : plan["host"];
  for (const search::GraphKind kind : search::kAllGraphKinds) {
    const char* key = search::name(kind);
    input.graphs[kind] =
        graph(plan["merged"][key], first["graphs"].contains(key) ? &first["graphs"][key] : nullptr);
  }
  if (!mixed) return addHost(first, directory, plan["input"]["topology"], true, input);
  for (std::size_t i = 0; i < plan["hosts"].size(); ++i) {
    const json& host = plan["hosts"][i];
    if (!addHost(host, directory, host["topology"], i == 0, input)) return false;
  }
  return true;
}

}  // namespace

std::optional<GoldenJob> readJob(const fs::path& file) {
  GoldenJob job{.file = file, .plan = json::parse(std::ifstream(file)), .input = {}, .settings = {}};
  if (!job.plan.contains("tuning") || !job.plan["tuning"].contains("model")) return std::nullopt;
  if (!readInput(job.plan, file.parent_path(), job.input)) return std::nullopt;
  for (const auto& [name, value] : job.plan["input"]["settings"].items())
    if (const SettingSpec* spec = findSetting(name))
      job.settings.set(*spec, value.get<std::string>(), "golden");
  return job;
}

std::vector<fs::path> plansBelow(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace xylem::golden
