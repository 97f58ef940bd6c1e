// xylem perf: the speed of collectives here, and whether their results are right.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/commands.h"
#include "cli/number_text.h"
#include "cli/perf/cases.h"
#include "cli/perf/job.h"
#include "cli/perf/memory_need.h"
#include "cli/perf/report.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/settings.h"
#include "core/spelling.h"
#include "planner/tuning/tuning_options.h"
#include "runtime/launch/launched_process.h"

namespace xylem::cli {
namespace {

constexpr int kMaxLocalRanks = 1024;  // on one machine
constexpr int kMaxRepetitions = 1'000'000;

// As given.
struct PerfArguments {
  std::string collective;
  std::string begin = "8", end = "64M", step;
  std::string type = "float", op = "sum", memory = "cuda";
  std::size_t factor = 2;
  int processes = 0;  // 0: not given
  int average = 1, blocking = 0, cpuTime = 0, registers = 0;
  PerfOptions perf;
};

constexpr const char* kPerfExamples = R"(Examples:
  xylem perf all_reduce -p 4                       4 ranks, a process each, 8 bytes to 64 MB
  xylem perf alltoall -t 2 -g 4                    one process, 2 threads, 4 ranks each
  xylem perf all_gather -p 8 -b 1M -e 1M -d half   one size, 16-bit floats
  xylem perf reduce -p 2 -b 4 -e 64 -i 4 -d all -o all -r -1
                                                   every type, operation and root
  xylem run -n 4 --hosts a:2,b:2 -- xylem perf all_reduce
                                                   a process of a job each
  xylem perf all_reduce -p 4 --json | jq .avg_busbw_gbs
  xylem perf all_reduce -p 4 -G 10                 10 launches of a CUDA graph of 20 operations
  mpirun -n 4 xylem perf all_reduce                the same under MPI's launchers
  NCCL_DEBUG=INFO xylem perf all_reduce -p 2       with NCCL's log lines

Options, columns and factors are those of nccl-tests; -p, --memory and --json are this command's own (-p means
parallel_init there), and -N, -S, -J, -D, -x and -R 2 are not taken. There are processes * threads * gpus ranks.
Under a launcher (xylem run, mpirun, mpiexec, srun, torchrun) each process is one of the launcher's, and they meet
through it, or where NCCL_COMM_ID says.

Every element of every result is compared with one that was computed without the library; alltoall and sendrecv
cannot be done in place (N/A). algbw is the size divided by the time until it is done, for hypercube without the
rank's own block; busbw is what each rank's link carries for it: algbw * 2(n-1)/n for all_reduce, (n-1)/n where
blocks go to or come from all, and 1 for the others. Sizes take K, M and G (powers of 1024); GB/s are 1e9 bytes
per second.)";

// The names of the first `count` values.
template <typename Value>
std::vector<std::string> names(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.emplace_back(name(static_cast<Value>(i)));
  return all;
}

// The value whose name is `wanted`, or all values for "all".
template <typename Value>
std::vector<Value> named(const std::string& wanted, int count, const std::string& option) {
  std::vector<Value> found;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Value>(i);
    if (isSameWord(wanted, "all") || isSameWord(wanted, name(value))) found.push_back(value);
  }
  if (found.empty())
    throw InputError({option, 0}, "`" + wanted + "`",
                     fmt::format("{}, or all", fmt::join(names<Value>(count), ", ")));
  return found;
}

void resolveSizes(const PerfArguments& options, PerfOptions& perf) {
  perf.minBytes = parseBytes(options.begin, "-b");
  perf.maxBytes = parseBytes(options.end, "-e");
  if (!options.step.empty()) {
    perf.stepBytes = parseBytes(options.step, "-i");
    if (perf.stepBytes == 0) throw InputError({"-i", 0}, "`" + options.step + "`", "at least 1 byte");
  }
  perf.stepFactor = options.factor;
  if (perf.minBytes == 0) throw InputError({"-b", 0}, "`" + options.begin + "`", "at least 1 byte");
  if (perf.minBytes > perf.maxBytes)
    throw InputError({"-b", 0}, options.begin + " with -e " + options.end,
                     "a first size that is not above the last");
}

void checkRanks(const PerfOptions& perf) {
  const int ranks = perf.ranks();
  if (perf.root >= ranks)
    throw InputError({"-r", 0}, fmt::format("root {} of {} ranks", perf.root, ranks),
                     fmt::format("a rank from 0 to {}, or -1 for each in turn", ranks - 1));
  if (perf.collective != PerfCollective::kHypercube) return;
  if ((ranks & (ranks - 1)) != 0)
    throw InputError({"hypercube", 0}, fmt::format("{} ranks", ranks), "a power of two");
  if (perf.aggregated > 1)
    throw InputError({"-m", 0}, "hypercube",
                     "another operation: its steps need each other, so no group has all");
}

PerfOptions resolve(const PerfArguments& options, const std::optional<launch::LaunchedProcess>& launch) {
  PerfOptions perf = options.perf;
  perf.collective = named<PerfCollective>(options.collective, kPerfCollectives, "OP").front();
  resolveSizes(options, perf);
  perf.types = named<DataType>(options.type, kDataTypes, "-d");
  perf.ops = named<PerfOperator>(options.op, kPerfOperators, "-o");
  perf.memory = named<PerfMemory>(options.memory, kPerfMemories, "--memory").front();
  perf.average = static_cast<PerfAverage>(options.average);
  perf.blocking = options.blocking != 0;
  perf.cpuTime = options.cpuTime != 0;
  perf.registers = options.registers != 0;
  if (launch)
    perf.processes = launch->size;
  else if (options.processes > 0)
    perf.processes = options.processes;
  else
    perf.processes = perf.ranksPerProcess() > 1 ? 1 : 2;
  const auto local = std::int64_t{launch ? launch->localSize : perf.processes} * perf.threads * perf.gpus;
  if (local > kMaxLocalRanks)
    throw InputError({"-p, -t, -g", 0}, fmt::format("{} ranks on this machine", local),
                     fmt::format("at most {}", kMaxLocalRanks));
  checkRanks(perf);
  return perf;
}

int runPerf(const PerfArguments& options) {
  // Names a variable that cannot be used, before any rank starts.
  tuning::TuningOptions::from(Settings::fromEnvironment());
  // With -p the command starts processes of its own, even in a launcher's job.
  const auto launch = options.processes > 0 ? std::nullopt : launch::launchedProcess(std::getenv);
  const PerfOptions perf = resolve(options, launch);
  if (launch) {
    PerfReport report(perf, terminalOf(stdout), [](std::string_view text) {
      writeOut(text);
      std::fflush(stdout);
    });
    const std::uint64_t wrong = runPerfLaunched(perf, *launch, report);
    if (launch->rank == 0) report.finish();
    return wrong == 0 ? kOk : kFailed;
  }
  requireMemory(perf, availableMemory());
  PerfJob job(perf);
  PerfReport report(perf, terminalOf(stdout), [&](std::string_view text) { job.print(text); });
  report.starts();
  if (const int status = job.run(report); status != 0) return status;
  report.finish();
  return report.wrong() == 0 ? kOk : kFailed;
}

void addShape(Command& command, PerfArguments& o) {
  command.option("-p,--processes", o.processes, "processes to start (default 2; 1 with -t or -g)")
      .value("N")
      .within(1, kMaxLocalRanks);
  command.option("-t,--nthreads", o.perf.threads, "threads per process (default 1)")
      .value("N")
      .within(1, kMaxLocalRanks);
  command.option("-g,--ngpus", o.perf.gpus, "ranks per thread (default 1)")
      .value("N")
      .within(1, kMaxLocalRanks);
  command.option("-b,--minbytes", o.begin, "first size (default 8)").value("SIZE");
  command.option("-e,--maxbytes", o.end, "last size (default 64M)").value("SIZE");
  Option step = command.option("-i,--stepbytes", o.step, "add this from size to size").value("SIZE");
  command.option("-f,--stepfactor", o.factor, "or multiply by this (default 2)")
      .value("N")
      .within(2, 1 << 20)
      .excludes(step);
}

void addWhat(Command& command, PerfArguments& o) {
  command.option("-d,--datatype", o.type, "type of the elements, or all (default float)").value("TYPE");
  command.option("-o,--op", o.op, "sum, prod, max, min, avg, mulsum or all (default sum)").value("OP");
  command.option("-r,--root", o.perf.root, "root, or -1 for each in turn (default 0)")
      .value("RANK")
      .within(-1, 1 << 20);
  command.option("--memory", o.memory, "buffers from malloc, cudaMalloc or ncclMemAlloc (default cuda)")
      .value("KIND")
      .oneOf(names<PerfMemory>(kPerfMemories));
}

void addHow(Command& command, PerfArguments& o) {
  const auto flag = [&command](const char* name, int& value, const char* help) {
    command.option(name, value, help).value("0|1").within(0, 1);
  };
  command.option("-n,--iters", o.perf.iterations, "operations measured (default 20)")
      .value("N")
      .within(1, kMaxRepetitions);
  command.option("-w,--warmup_iters", o.perf.warmup, "operations before that (default 5)")
      .value("N")
      .within(0, kMaxRepetitions);
  command.option("-m,--agg_iters", o.perf.aggregated, "do each so often in one group (default 1)")
      .value("N")
      .within(1, kMaxRepetitions);
  command.option("-c,--check", o.perf.checks, "results to check; 0: none (default 1)")
      .value("N")
      .within(0, kMaxRepetitions);
  flag("-z,--blocking", o.blocking, "1: wait after each operation (default 0)");
  command
      .option("-a,--average", o.average,
              "time of 0: rank 0, 1: all on average, 2: the fastest, 3: the slowest (default 1)")
      .value("0-3")
      .within(0, 3);
  flag("-C,--report_cputime", o.cpuTime,
       "1: show the time of the calls alone, until all is enqueued (default 0)");
  flag("-R,--local_register", o.registers, "1: register the buffers (default 0)");
  command
      .option("-G,--cudagraph", o.perf.graphLaunches,
              "capture all operations in a CUDA graph, and measure N launches of it (default 0: no graph)")
      .value("N")
      .within(0, kMaxRepetitions);
  command
      .option("-T,--timeout", o.perf.timeoutSeconds,
              "give up when nothing is done for so long; 0: never (default 300)")
      .value("SECONDS")
      .within(0, 86400);
  command.flag("--json", o.perf.json, "print JSON");
}

}  // namespace

void addPerf(CommandLine& line) {
  const auto o = std::make_shared<PerfArguments>();
  Command command = line.add("perf", "measure collectives, and check their results");
  const std::vector<std::string> operations = names<PerfCollective>(kPerfCollectives);
  command.option("OP", o->collective, "what to measure: " + fmt::format("{}", fmt::join(operations, ", ")))
      .required()
      .oneOf(operations);
  addShape(command, *o);
  addWhat(command, *o);
  addHow(command, *o);
  command.footer(kPerfExamples);
  command.action([o] { return runPerf(*o); });
}

}  // namespace xylem::cli
