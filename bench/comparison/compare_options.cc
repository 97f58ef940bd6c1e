#include "comparison/compare_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "cli/number_text.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

constexpr const char* kAbout =
    "Runs Xylem and the MPI libraries that are installed on the same cores at the same time, and says who is "
    "faster.";

constexpr const char* kExamples = R"(Examples:
  bench/compare.sh --quick                                 is everything there? a minute
  nice -n -19 bench/compare.sh --json now.json             2 ranks, all operations and sizes
  bench/compare.sh --in-place --operations all_reduce      as PyTorch and MPI_IN_PLACE have it
  bench/compare.sh --shape 4 8 --operations all_reduce --sizes 8,4K,1M
  bench/compare.sh --shape 2x8 4x4 --sizes 1M:256M          several cores for each rank
  bench/compare.sh --shape hosts --sizes 8:64M --without malloc threads
  bench/compare.sh --shape hosts --sizes 8:64M --congestion reno      the same for all
  jq '.cases[] | [.operation, .bytes, .by_ours.processes.best_peer]' now.json

Shapes: 2 ranks with a core each; 4 and 8, which may be more than there are cores, wherever the system puts them; 2x8,
2 ranks with 8 cores each, and 2, 4 or 8 ranks with up to 64;
hosts, two ranks in network namespaces that a cable joins (as root).

Contenders, which --without leaves out: threads, processes (with buffers of ncclMemAlloc) and malloc (processes with
buffers of malloc) are ours; openmpi, openmpi-ucx and mpich the peers. All of them are alive all the time, and sleep
while others are measured. Every iteration of ours is the call and cudaStreamSynchronize, as a call of MPI returns when
its result is there; --pipelined waits once per measurement. Peers are told
not to offer their cores to other programs where each rank has a core of its own. Results are out of place, but on the
root of Broadcast, unless --in-place asks; the limits always are. Inputs are not written between operations, so that other
ranks may find them in their caches, unless --rewrite asks. A measurement is from the moment that the first rank leaves a barrier to the last rank's end, by the
number of iterations: operations in which a rank need not wait, as the root of Broadcast, overlap, for all alike. Behind
it (|) is the median of iterations that each follow a barrier, on the rank for which that is longest: nothing overlaps.

On a shared machine the way between two cores may change by factors, for seconds. So contenders take turns, and the time
of a cache line between the cores is probed before and after each: a time is the median over those rounds that had the
machine in the state it was in most of the time ("line ns"). * marks times of which fewer than half of the rounds
count, ! results that are wrong. Where each rank has a core of its own, a measurement during which another program took
one is made again, up to twice.

The limits are what two cores need that do nothing else: mailbox, for small operations; mapped and mapped-streaming,
where each core computes half of all results straight into the outputs. Between hosts it is one TCP connection (tcp,
tcp-sleeping), with the congestion control that Xylem's sockets choose (XYLEM_TCP_CONGESTION). The column "limit" is the least of them. peer/X is the time of the fastest peer divided by X's: above 1,
X is faster.)";

std::vector<Shape> shapesOf(const std::vector<std::string>& words) {
  std::vector<Shape> shapes;
  for (const std::string& word : words) {
    const auto shape = shapeNamed(word);
    if (!shape) throw InputError({"--shape", 0}, "`" + word + "`", "2, 4, 8, hosts, or 2, 4 or 8 ranks with 2 to 64 cores each, as in 2x8");
    shapes.push_back(*shape);
  }
  return shapes;
}

std::vector<Operation> operationsOf(const std::vector<std::string>& words) {
  if (words.empty()) return {kUsualOperations.begin(), kUsualOperations.end()};
  std::vector<Operation> operations;
  std::string names;
  for (const Operation operation : kAllOperations) names += fmt::format("{} ", name(operation));
  for (const std::string& word : words) {
    const auto operation = operationNamed(word);
    if (!operation) throw InputError({"--operations", 0}, "`" + word + "`", "some of " + names);
    operations.push_back(*operation);
  }
  return operations;
}

void checkNames(const std::vector<std::string>& without) {
  std::vector<std::string> names;
  for (const char* shape : {"2", "hosts"})
    for (const Entry& entry : entriesOf(*shapeNamed(shape)))
      if (std::find(names.begin(), names.end(), entry.name) == names.end()) names.push_back(entry.name);
  for (const std::string& word : without)
    if (std::find(names.begin(), names.end(), word) == names.end())
      throw InputError({"--without", 0}, "`" + word + "`", fmt::format("some of {}", fmt::join(names, " ")));
}

}  // namespace

std::vector<std::uint64_t> parseSizes(const std::string& text, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  const auto read = [](const std::string& word) {
    const std::uint64_t size = cli::parseBytes(word, "--sizes");
    if (size == 0) throw InputError({"--sizes", 0}, "`" + word + "`", "at least 1 byte");
    return size;
  };
  if (const auto colon = text.find(':'); colon != std::string::npos) {
    const std::uint64_t last = read(text.substr(colon + 1));
    for (std::uint64_t size = read(text.substr(0, colon)); size < last; size *= factor) sizes.push_back(size);
    sizes.push_back(last);
    return sizes;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) sizes.push_back(read(word));
  return sizes;
}

CompareOptions parseOptions(int argc, char** argv) {
  CompareOptions options;
  std::vector<std::string> shapes{"2"}, operations;
  std::string sizes;
  std::uint64_t factor = 4;
  CLI::App app(kAbout, "compare");
  app.footer(kExamples);
  app.add_option("--shape", shapes, "where the ranks are: 2, 4, 8, 2x8, hosts (default 2)")
      ->delimiter(',')
      ->type_name("SHAPE");
  app.add_option("--operations", operations,
                 "some of all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv, the "
                 "default, and send, one\n"
                 "way from each even rank to the next")
      ->delimiter(',')
      ->type_name("NAME");
  app.add_option("--sizes", sizes, "of the longer buffer: 8,4K,1M, or 8:256M, the default (--quick: 8,4K,1M)")
      ->type_name("LIST");
  app.add_option("--factor", factor, "from a size to the next one (4)")->check(CLI::Range(2, 1024));
  auto* rounds = app.add_option("--rounds", options.rounds, "every contender is measured so many times (7)")
                     ->check(CLI::Range(1, 1000));
  app.add_option("--without", options.without, "leave these contenders out")
      ->delimiter(',')
      ->type_name("NAME");
  app.add_option("--json", options.json, "write everything to this file, too")->type_name("FILE");
  app.add_option("--congestion", options.congestion,
                 "between hosts, of all who choose none: cubic, reno, ... (as the system)")
      ->type_name("NAME");
  app.add_flag("--in-place", options.inPlace,
               "AllReduce, AllGather and, on the root, Reduce have their input in the output");
  app.add_flag(
      "--rewrite", options.rewrites,
      "every rank writes its input before each operation, as programs do; back to back that counts,\n"
      "too. The limits of one host do not");
  app.add_flag("--pipelined", options.pipelined, "ours waits once per measurement, not per operation")
      ->excludes("--rewrite");
  app.add_flag("--quick", options.quick, "few sizes, 3 rounds, short measurements");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    std::exit(app.exit(wanted));
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "compare: {} (see --help)\n", error.what());
    std::exit(2);
  }
  if (options.quick) {
    if (rounds->count() == 0) options.rounds = 3;
    options.targetMilliseconds = 1;
  }
  options.sizes = parseSizes(!sizes.empty() ? sizes : options.quick ? "8,4K,1M" : "8:256M", factor);
  options.shapes = shapesOf(shapes);
  for (const Shape& shape : options.shapes)
    if (options.inPlace && shape.kind == Shape::kTwoHosts)
      throw InputError({"--in-place", 0}, "`--shape hosts`", "ranks of one host");
  checkNames(options.without);
  options.operations = operationsOf(operations);
  return options;
}

}  // namespace xylem::bench
