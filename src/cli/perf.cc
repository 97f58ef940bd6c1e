// xylem perf: how fast collectives are here, and whether they are right.
#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/perf_job.h"
#include "cli/perf_options.h"
#include "cli/perf_report.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

constexpr int kMostRanks = 256;

struct Options {
  std::string collective;
  std::string begin = "8", end = "64M", step;
  std::string type = "float", op = "sum";
  std::size_t factor = 2;
  int check = 1;
  PerfOptions perf;
};

constexpr const char* kExamples = R"(Examples:
  xylem perf all_reduce -n 4                       4 ranks, 8 bytes to 64 MB
  xylem perf all_reduce -n 8 -b 1M -e 1M -d half   one size, 16-bit floats
  xylem perf all_reduce -n 2 -b 4 -e 64 -i 4 -d all -o all
                                                   every type and operation
  xylem perf all_reduce -n 4 --json | jq .avg_busbw_gbs
  NCCL_DEBUG=INFO xylem perf all_reduce -n 2       with NCCL's log lines

Every element of every result is compared with one that was computed without the library. algbw is the
buffer's size divided by the time, busbw is algbw * 2(n-1)/n: what each rank's link carries. Sizes take K, M
and G (powers of 1024); GB/s are 1e9 bytes per second.)";

// The values whose names are `wanted`, or all of them.
template <typename Value>
std::vector<Value> named(const std::string& wanted, int count, const std::string& option) {
  std::vector<Value> found;
  std::string names;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Value>(i);
    if (wanted == "all" || wanted == name(value)) found.push_back(value);
    names += std::string(name(value)) + ", ";
  }
  if (found.empty()) throw InputError({option, 0}, "`" + wanted + "`", names + "or all");
  return found;
}

PerfOptions resolve(const Options& options) {
  PerfOptions perf = options.perf;
  perf.minBytes = parseBytes(options.begin, "-b");
  perf.maxBytes = parseBytes(options.end, "-e");
  if (!options.step.empty()) {
    perf.stepBytes = parseBytes(options.step, "-i");
    if (perf.stepBytes == 0) throw InputError({"-i", 0}, "`" + options.step + "`", "at least 1 byte");
  }
  perf.stepFactor = options.factor;
  perf.check = options.check != 0;
  perf.types = named<DataType>(options.type, kDataTypes, "-d");
  perf.ops = named<ReduceOp>(options.op, kReduceOps, "-o");
  if (perf.minBytes == 0) throw InputError({"-b", 0}, "`" + options.begin + "`", "at least 1 byte");
  if (perf.minBytes > perf.maxBytes)
    throw InputError({"-b", 0}, options.begin + " with -e " + options.end,
                     "a first size that is not above the last");
  return perf;
}

int runPerf(const Options& options) {
  const PerfOptions perf = resolve(options);
  PerfReport report(perf, terminalOf(stdout));
  PerfJob job(perf);
  job.run(report);
  report.finish();
  return report.wrong() == 0 ? kOk : kFailed;
}

}  // namespace

void addPerf(CLI::App& app, Action& action) {
  const auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("perf", "measure collectives on this machine, and check their results");
  command->add_option("COLLECTIVE", o->collective, "what to measure: all_reduce")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"all_reduce"}));
  command->add_option("-n,--ranks", o->perf.ranks, "number of ranks, a process each (default 2)")
      ->type_name("N")
      ->check(integerIn(1, kMostRanks));
  command->add_option("-b,--minbytes", o->begin, "first size (default 8)")->type_name("SIZE");
  command->add_option("-e,--maxbytes", o->end, "last size (default 64M)")->type_name("SIZE");
  CLI::Option* step =
      command->add_option("-i,--stepbytes", o->step, "add this from size to size")->type_name("SIZE");
  command->add_option("-f,--stepfactor", o->factor, "or multiply by this (default 2)")
      ->type_name("N")
      ->check(integerIn(2, 1 << 20))
      ->excludes(step);
  command->add_option("-d,--datatype", o->type, "type of the elements, or all (default float)")
      ->type_name("TYPE");
  command->add_option("-o,--op", o->op, "sum, prod, max, min, avg or all (default sum)")->type_name("OP");
  command->add_option("-w,--warmup_iters", o->perf.warmup, "operations before the measurement (default 5)")
      ->type_name("N")
      ->check(integerIn(0, 1'000'000));
  command->add_option("--iters", o->perf.iterations, "operations measured (default 20)")
      ->type_name("N")
      ->check(integerIn(1, 1'000'000));
  command->add_option("-c,--check", o->check, "1: check every result (default); 0: do not")
      ->type_name("0|1")
      ->check(integerIn(0, 1));
  command
      ->add_option("-T,--timeout", o->perf.timeoutSeconds,
                   "give up when no rank reports for so long (default 300)")
      ->type_name("SECONDS")
      ->check(integerIn(1, 86400));
  command->add_flag("--json", o->perf.json, "print JSON");
  command->footer(kExamples);
  command->callback([&action, o] { action = [o] { return runPerf(*o); }; });
}

}  // namespace xylem::cli
