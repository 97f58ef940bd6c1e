// Speed of combining elements: GB/s of result for every type and operation, from the caches and from memory,
// and the ratio to a memcpy that moves the same number of bytes.
//
//   reduction_speed [--json] [--ranks N] [--table portable|avx2|avx512|avx512fp16] [type...]
//
// A combination reads two arrays and writes a third, a memcpy reads one and writes one: a result of 64 KiB is
// compared with a memcpy of 96 KiB. In the last column the results are written past the caches, as memcpy
// does from some size on, by the function that does all of a collective: it also scales the first array, where others have that behind them. Times are processor times of the thread, medians of several batches.

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/copying.h"
#include "runtime/collectives/combine_all.h"

namespace xylem {
namespace {

// Processor seconds of this thread: other programs on its core do not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kMost = 64 * kMiB;
constexpr int kBatches = 9;
// A batch takes about as long as this number of bytes of result.
constexpr std::size_t kBatchBytes = 4 * kMiB;

struct Case {
  std::size_t bytes;
  bool streams;
  const char* name;
};
constexpr Case kCases[] = {
    {64 * kKiB, false, "64 KiB"},
    {kMiB, false, "1 MiB"},
    {kMost, false, "64 MiB cached"},
    {kMost, true, "64 MiB"},
};

struct Unmap {
  void operator()(std::byte* memory) const { munmap(memory, kMost * 2); }
};
using Memory = std::unique_ptr<std::byte, Unmap>;

// Ordinary numbers of every type: neither they nor their products are NaN or denormal.
Memory numbers(unsigned seed) {
  void* mapped = mmap(nullptr, kMost * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    std::perror("reduction_speed: 128 MiB of memory");
    std::exit(1);
  }
  madvise(mapped, kMost * 2, MADV_HUGEPAGE);
  std::mt19937_64 random(seed);
  auto* bytes = static_cast<std::byte*>(mapped);
  for (std::size_t at = 0; at < kMost * 2; at += 8) {
    const std::uint64_t value = (random() & 0x3b3b3b3b3b3b3b3b) | 0x3030303030303030;
    std::memcpy(bytes + at, &value, 8);
  }
  return Memory(bytes);
}

// Seconds of one call: the median of several batches.
double seconds(std::size_t bytes, const std::function<void()>& call) {
  const std::size_t calls = std::max<std::size_t>(1, kBatchBytes / bytes);
  call();
  std::vector<double> times(kBatches);
  for (double& time : times) {
    const double start = now();
    for (std::size_t i = 0; i < calls; ++i) call();
    time = (now() - start) / static_cast<double>(calls);
  }
  std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
  return times[kBatches / 2];
}

struct Speed {
  double gbPerSecond;
  double ofMemcpy;
};

class Bench {
 public:
  Bench(const collectives::ReductionTable& table, int ranks) : table_(table), ranks_(ranks) {}

  Speed reduction(DataType type, int op, const Case& c) const {
    collectives::Reduction r = table_[static_cast<int>(type)][op];
    r.factor.scale = 1.0 / ranks_;
    r.factor.divisor = ranks_;
    r.factor.element.fill(std::byte{0x38});
    const std::size_t n = c.bytes / r.elementBytes;
    const double own = seconds(c.bytes, [&] {
      const std::byte* const in[] = {a_.get() + kApart, b_.get() + 2 * kApart};
      const collectives::Factor factors[] = {r.factor, r.factor};
      std::byte* const out = out_.get();
      if (c.streams)
        combineAll(r, {in, factors}, {&out, 1}, n, true);
      else
        r.finish(out, nullptr, in[0], in[1], n, r.factor);
    });
    const double copy = memcpySeconds(c.bytes * 3 / 2);
    return {static_cast<double>(c.bytes) / own / 1e9, copy / own};
  }

  double memcpySeconds(std::size_t bytes) const {
    return seconds(bytes, [&] { std::memcpy(out_.get(), a_.get() + kApart, bytes); });
  }

  // This library's functions, beside memcpy.
  double copySeconds(const Case& c) const {
    return seconds(c.bytes, [&] {
      (c.streams ? copyBytesStreaming : copyBytes)(out_.get(), a_.get() + kApart, c.bytes);
    });
  }

 private:
  static constexpr std::size_t kApart = 1344;  // so that arrays do not compete for the same lines of a cache
  const collectives::ReductionTable& table_;
  const int ranks_;
  Memory out_ = numbers(1), a_ = numbers(2), b_ = numbers(3);
};

struct Options {
  bool json = false;
  int ranks = 3;  // not a power of two: averages of integers divide
  std::string table;
  std::vector<std::string> types;
  bool wants(DataType type) const {
    return types.empty() || std::find(types.begin(), types.end(), name(type)) != types.end();
  }
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      options.json = true;
    } else if (word == "--ranks" && i + 1 < argc) {
      options.ranks = std::max(2, std::atoi(argv[++i]));
    } else if (word == "--table" && i + 1 < argc) {
      options.table = argv[++i];
    } else if (word[0] != '-') {
      options.types.emplace_back(word);
    } else {
      std::fprintf(stderr,
                   "usage: reduction_speed [--json] [--ranks N] [--table portable|avx2|avx512|avx512fp16] "
                   "[type...]\n");
      std::exit(2);
    }
  }
  return options;
}

const collectives::ReductionTable& tableOf(const std::string& wanted) {
  const collectives::ReductionTable* table = wanted == "portable"     ? &collectives::portableReductions()
                                             : wanted == "avx2"       ? collectives::avx2Reductions()
                                             : wanted == "avx512"     ? collectives::avx512Reductions()
                                             : wanted == "avx512fp16" ? collectives::avx512Fp16Reductions()
                                                                      : &collectives::chosenReductions();
  if (table != nullptr) return *table;
  std::fprintf(stderr, "reduction_speed: no table %s on this processor\n", wanted.c_str());
  std::exit(2);
}

const char* nameOf(int op) {
  return op == collectives::kPreMulSum ? "premulsum" : name(static_cast<ReduceOp>(op)).data();
}

// Copies, for orientation: GB/s of the copied bytes.
void printHead(const Bench& bench) {
  std::printf("GB/s of result, and the part that is of a memcpy's speed with as much traffic\n");
  std::printf("%-9s %-9s", "type", "op");
  for (const Case& c : kCases) std::printf("  %13s  ratio", c.name);
  const auto row = [](const char* what, const std::function<double(const Case&)>& secondsOf) {
    std::printf("\n%-9s %-9s", what, "");
    for (const Case& c : kCases)
      std::printf("  %13.1f       ", static_cast<double>(c.bytes) / secondsOf(c) / 1e9);
  };
  row("memcpy", [&](const Case& c) { return bench.memcpySeconds(c.bytes); });
  row("copyBytes", [&](const Case& c) { return bench.copySeconds(c); });
  std::printf("\n");
}

void printRow(DataType type, int op, const std::vector<Speed>& speeds) {
  std::printf("%-9s %-9s", name(type).data(), nameOf(op));
  for (const Speed& speed : speeds) std::printf("  %13.1f  %5.2f", speed.gbPerSecond, speed.ofMemcpy);
  std::printf("\n");
  std::fflush(stdout);
}

nlohmann::json asJson(DataType type, int op, const std::vector<Speed>& speeds) {
  nlohmann::json row{{"type", name(type)}, {"op", nameOf(op)}, {"speeds", nlohmann::json::array()}};
  for (std::size_t i = 0; i < speeds.size(); ++i)
    row["speeds"].push_back({{"bytes", kCases[i].bytes},
                             {"streaming", kCases[i].streams},
                             {"gb_per_s", speeds[i].gbPerSecond},
                             {"of_memcpy", speeds[i].ofMemcpy}});
  return row;
}

void run(const Options& options) {
  const Bench bench(tableOf(options.table), options.ranks);
  nlohmann::json rows = nlohmann::json::array();
  if (!options.json) printHead(bench);
  for (int t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    if (!options.wants(type)) continue;
    for (int op = 0; op <= collectives::kPreMulSum; ++op) {
      std::vector<Speed> speeds;
      for (const Case& c : kCases) speeds.push_back(bench.reduction(type, op, c));
      if (options.json)
        rows.push_back(asJson(type, op, speeds));
      else
        printRow(type, op, speeds);
    }
  }
  if (options.json) std::printf("%s\n", rows.dump(1).c_str());
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) { xylem::run(xylem::parse(argc, argv)); }
