// GPU facts of a captured machine: reading and writing its file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/error.h"
#include "planner/topology/attributes.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_gpu_source.h"

namespace xylem {
namespace {

// Hosts have 16 GPUs at most; this only bounds a hostile file.
constexpr std::size_t kMostCapturedLines = 100'000;

class Line {
 public:
  Line(SourceLocation where, const std::string& text) : where_(std::move(where)) {
    std::istringstream words(text);
    words >> kind_;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) fail("`" + word + "`", "words such as dev=0");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  const std::string& kind() const { return kind_; }

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) fail(kind_ + " without `" + key + "`", key + "= in every line of this kind");
    return found->second;
  }

  int number(const std::string& key) const {
    const int value = parseInt(text(key), -1);
    if (value < 0) fail(fmt::format("{}={}", key, text(key)), "a whole number, 0 or more");
    return value;
  }

  int number(const std::string& key, int fallback) const {
    return values_.contains(key) ? number(key) : fallback;
  }

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError(where_, found, expected);
  }

 private:
  SourceLocation where_;
  std::string kind_;
  std::map<std::string, std::string> values_;
};

GpuFacts gpuOf(const Line& line) {
  GpuFacts gpu;
  gpu.dev = line.number("dev");
  const auto id = parseBusId(line.text("busid"));
  if (!id) line.fail("busid=" + line.text("busid"), "a bus id such as 0000:1b:00.0");
  gpu.busId = busIdText(*id);
  gpu.sm = line.number("sm");
  gpu.gdr = line.number("gdr", 1) != 0;
  return gpu;
}

class CapturedGpus : public GpuSource {
 public:
  explicit CapturedGpus(std::filesystem::path file) : file_(std::move(file)) {}

  GpuInventory read() const override {
    GpuInventory found;
    int number = 0;
    for (const std::string& text : readLines(file_, kMostCapturedLines)) {
      ++number;
      if (const std::size_t first = text.find_first_not_of(" \t");
          first == std::string::npos || text[first] == '#')
        continue;
      const Line line({file_.string(), number}, text);
      if (line.kind() == "gpu") {
        found.gpus.push_back(gpuOf(line));
        continue;
      }
      if (found.gpus.empty()) line.fail("`" + line.kind() + "`", "a line `gpu dev=0 busid=… sm=…` first");
      GpuFacts& gpu = found.gpus.back();
      if (line.kind() == "nvlink") {
        gpu.nvlinks.push_back({lowerCase(line.text("target")), line.number("count")});
      } else if (line.kind() == "c2c") {
        gpu.c2cBandwidth = line.number("bw");
        gpu.c2cCount = line.number("count");
      } else {
        line.fail("`" + line.kind() + "`", "gpu, nvlink or c2c");
      }
    }
    std::stable_sort(found.gpus.begin(), found.gpus.end(),
                     [](const GpuFacts& a, const GpuFacts& b) { return a.dev < b.dev; });
    return found;
  }

 private:
  std::filesystem::path file_;
};

}  // namespace

std::unique_ptr<GpuSource> capturedGpus(std::filesystem::path file) {
  return std::make_unique<CapturedGpus>(std::move(file));
}

std::unique_ptr<GpuSource> gpuSourceOf(const std::filesystem::path& root) {
  return root == "/" ? nvmlGpus() : capturedGpus(root / kCapturedGpusFile);
}

std::string writeGpuFacts(std::span<const GpuFacts> gpus) {
  std::string text;
  for (const GpuFacts& gpu : gpus) {
    text += fmt::format("gpu dev={} busid={} sm={} gdr={}\n", gpu.dev, gpu.busId, gpu.sm, gpu.gdr ? 1 : 0);
    for (const GpuFacts::Nvlink& link : gpu.nvlinks)
      text += fmt::format("nvlink target={} count={}\n", link.target, link.count);
    if (gpu.c2cCount > 0) text += fmt::format("c2c bw={} count={}\n", gpu.c2cBandwidth, gpu.c2cCount);
  }
  return text;
}

}  // namespace xylem
