// bench_compare: Xylem beside MPI, on the same cores at the same time. compare_options.cc has its help text.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "comparison/compare_options.h"
#include "comparison/comparison.h"
#include "comparison/host_pair.h"
#include "comparison/interruption.h"
#include "comparison/report.h"
#include "core/error.h"
#include "runtime/device/core_pair.h"

namespace xylem::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kMemoryShare = 0.7;  // share of the available memory that buffers may take
constexpr double kCrowdedMilliseconds =
    20;  // shortest measurement where ranks share cores: some time slices of the system

// A folder that is removed with its owner.
class ScratchFolder {
 public:
  ScratchFolder() : path_((fs::temp_directory_path() / "xylem-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw Error(ResultCode::kSystemError, "cannot make a folder like {}: {}", path_, errnoText(errno));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::uint64_t availableBytes() {
  std::ifstream in("/proc/meminfo");
  std::string name;
  for (std::uint64_t kib = 0; in >> name >> kib; in.ignore(100, '\n'))
    if (name == "MemAvailable:") return kib << 10;
  return UINT64_MAX;
}

void remark(const std::string& text) { fmt::print(stderr, "compare: {}\n", text); }

class Run {
 public:
  explicit Run(const CompareOptions& options) : options_(options), cores_(usableCores()) {
    if (cores_.size() >= 2) {
      pair_.emplace(cores_[0], cores_[1]);
      probe_.emplace(*pair_);
    }
  }

  // Results from before a failure or an interruption are printed, too.
  void everything() {
    try {
      describeMachine();
      for (const Shape& shape : options_.shapes) compareIn(shape);
    } catch (const Error&) {
      writeJson();
      throw;
    }
    writeJson();
  }

 private:
  void describeMachine() {
    utsname system{};
    uname(&system);
    document_ = {
        {"format", "xylem-compare-1"},
        {"machine", {{"cpu", device::processorText()}, {"cores", cores_.size()}, {"kernel", system.release}}},
        {"rounds", options_.rounds},
        {"pipelined", options_.pipelined},
        {"in_place", options_.inPlace},
        {"rewrites", options_.rewrites},
        {"limits", nlohmann::ordered_json::array()},
        {"contenders", nlohmann::ordered_json::array()},
        {"remarks", nlohmann::ordered_json::array()},
        {"cases", nlohmann::ordered_json::array()}};
    fmt::print("{} cores of {}\n\n", cores_.size(), device::processorText());
    if (!pair_) return;
    const auto limits = measureMachine(*pair_, options_.quick);
    document_["limits"] = jsonOf(limits);
    cli::writeOut(machineText(screen_, limits));
    std::fflush(stdout);
  }

  Place placeFor(const Shape& shape, const HostPair* hosts) {
    Place place;
    place.shape = shape;
    place.programs = fs::read_symlink("/proc/self/exe").parent_path().string();
    place.folder = scratch_.path();
    if (coresOf(shape) <= cores_.size()) place.cores = cores_;
    place.pipelined = options_.pipelined;
    place.rewrites = options_.rewrites;
    place.pair = pair_ ? &*pair_ : nullptr;
    place.hosts = hosts;
    return place;
  }

  static std::size_t coresOf(const Shape& shape) {
    return static_cast<std::size_t>(shape.ranks * shape.each);
  }

  void compareIn(const Shape& shape) {
    if (shape.each > 1 && coresOf(shape) > cores_.size())
      return note(fmt::format("without {}: there are {} cores", shape.name(), cores_.size()));
    std::optional<HostPair> pairOfHosts;
    if (shape.kind == Shape::kTwoHosts) {
      try {
        pairOfHosts.emplace(scratch_.path(), options_.congestion);
        note(fmt::format("hosts: TCP's congestion control is {}", pairOfHosts->congestion()));
      } catch (const Error& error) {
        note(fmt::format("no hosts: {}", error.what()));
        return;
      }
    }
    compareOn(shape, pairOfHosts ? &*pairOfHosts : nullptr);
  }

  void compareOn(const Shape& shape, const HostPair* hosts) {
    const Place place = placeFor(shape, hosts);
    std::vector<Entry> entries;
    std::vector<std::unique_ptr<Contender>> contenders;
    for (const Entry& entry : entriesOf(shape)) {
      if (std::find(options_.without.begin(), options_.without.end(), entry.name) != options_.without.end())
        continue;
      if (auto contender = started(entry, place)) {
        document_["contenders"].push_back({{"shape", shape.name()},
                                           {"name", entry.name},
                                           {"title", entry.title},
                                           {"version", contender->version()}});
        contenders.push_back(std::move(contender));
        entries.push_back(entry);
      }
    }
    Plan plan;
    plan.rounds = options_.rounds;
    plan.targetSeconds = 1e-3 * (place.cores.empty() ? kCrowdedMilliseconds : options_.targetMilliseconds);
    if (hosts != nullptr) plan.moved = [hosts] { return hosts->movedBytes(); };
    Comparison comparison(std::move(contenders), probe_ ? &*probe_ : nullptr, plan);
    for (const Operation operation : options_.operations)
      compareOperation(shape, operation, entries, comparison);
    for (const std::string& text : comparison.remarks()) note(text);
  }

  std::unique_ptr<Contender> started(const Entry& entry, const Place& place) {
    if (const std::string missing = missingFor(entry, place); !missing.empty()) {
      note(fmt::format("without {}: {}", entry.name, missing));
      return nullptr;
    }
    try {
      return start(entry, place);
    } catch (const Error& error) {
      throwIfInterrupted();
      note(fmt::format("without {}: {}", entry.name, error.what()));
      return nullptr;
    }
  }

  void compareOperation(const Shape& shape, Operation operation, const std::vector<Entry>& entries,
                        Comparison& comparison) {
    std::vector<CaseResult> results;
    const auto tell = [&] {
      cli::writeOut(tableText(screen_, shape, entries, results));
      std::fflush(stdout);
    };
    try {
      for (const std::uint64_t size : options_.sizes) {
        const Case c{operation, shape.ranks, wholeBytes(operation, shape.ranks, size), options_.inPlace};
        if (!results.empty() && results.back().c.bytes == c.bytes) continue;
        if (!hasMemoryFor(c, comparison)) continue;
        fmt::print(stderr, "{} {} {} bytes\n", shape.name(), name(operation), c.bytes);
        results.push_back(comparison.measure(c));
        document_["cases"].push_back(jsonOf(shape, results.back()));
      }
    } catch (const Error&) {
      tell();
      throw;
    }
    tell();
  }

  bool hasMemoryFor(const Case& c, const Comparison& comparison) {
    const auto wanted = static_cast<double>(comparison.buffers()) * static_cast<double>(c.bytes);
    if (wanted <= kMemoryShare * static_cast<double>(availableBytes())) return true;
    note(fmt::format("no {} of {} bytes: there is no memory for everybody's buffers", name(c.operation),
                     c.bytes));
    return false;
  }

  void writeJson() const {
    if (options_.json.empty()) return;
    std::ofstream out(options_.json);
    out << document_.dump(1) << "\n";
    if (!out.flush()) throw Error(ResultCode::kSystemError, "cannot write {}", options_.json);
  }

  void note(const std::string& text) {
    remark(text);
    document_["remarks"].push_back(text);
  }

  const CompareOptions& options_;
  const std::vector<int> cores_;
  const cli::Terminal screen_ = cli::terminalOf(stdout);
  const ScratchFolder scratch_;
  std::optional<CorePair> pair_;
  std::optional<LineProbe> probe_;
  nlohmann::ordered_json document_;
};

int run(int argc, char** argv) {
  try {
    const CompareOptions options = parseOptions(argc, argv);
    rememberInterruptions();
    Run(options).everything();
    return 0;
  } catch (const InputError& error) {
    remark(error.what());
    return 2;
  } catch (const std::exception& error) {
    remark(error.what());
    return 1;
  }
}

}  // namespace
}  // namespace xylem::bench

int main(int argc, char** argv) { return xylem::bench::run(argc, argv); }
