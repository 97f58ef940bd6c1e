// Where the time of joining goes: `init_times RANKS processes|threads [REPEATS]`. init_times.sh runs it.
//
// Starts RANKS ranks on this machine, as processes that are executed afresh or as threads of one such
// process. Each joins a communicator, then takes part in an AllReduce of one element, which ends only after
// all ranks have come. Prints a row of a Markdown table with medians over the repeats, in milliseconds: from
// the first start of a process to the end of the AllReduce on the last rank; joining on the slowest rank; the
// parts of joining, which are those of NCCL's line `Init timings`, as means over the ranks, so that they add
// up; the processor time per rank, from its start to its end; and after the AllReduce the memory per rank in
// MB: the largest resident memory of a process, the mean of its own pages and its share of shared ones, and
// the largest that was resident at any time.

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/host_device.h"
#include "runtime/device/scheduler.h"

namespace {

using namespace xylem;
using Clock = std::chrono::steady_clock;  // the same in all processes of a machine

constexpr int kReportFd = 3;
constexpr int kPatienceMilliseconds = 120'000;

struct Report {
  std::array<double, comm::kInitParts> parts{};     // seconds
  double joined = 0;                                // seconds
  Clock::rep end = 0;                               // of the AllReduce
  double resident = 0, proportional = 0, peak = 0;  // bytes, of the process
};

double milliseconds(Clock::duration span) { return std::chrono::duration<double, std::milli>(span).count(); }

// Reads a line in KiB from one of this process's files; returns bytes.
double memoryIn(const char* file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return 1024 * std::strtod(line.c_str() + name.size(), nullptr);
  return 0;
}

// One rank, in a process of its own or with others. One rank of a process reports the memory of all.
void runRank(int rank, int ranks, const bootstrap::UniqueId& id, bool weighs) {
  const Settings settings = Settings::fromEnvironment();
  comm::Communicator comm({{id}, rank, ranks, rank}, {}, settings, std::make_shared<const Logger>(settings));
  const auto start = Clock::now();
  comm.join();
  Report report;
  report.joined = milliseconds(Clock::now() - start) / 1000;
  for (std::size_t i = 0; i < comm::kInitParts; ++i)
    report.parts[i] = comm.initTimer().seconds(static_cast<comm::InitPart>(i));

  device::OwnedStream stream(rank);
  std::array<std::byte, 8> data{};
  comm::CommOperation barrier;
  barrier.send = barrier.receive = data.data();
  barrier.count = 1;
  barrier.type = DataType::kInt32;
  barrier.stream = &stream.get();
  comm.launch({&barrier, 1});
  device::Scheduler::instance().wait(stream.get());
  if (const auto error = stream.get().takeError()) throw *error;
  report.end = Clock::now().time_since_epoch().count();
  if (weighs) {
    report.resident = memoryIn("/proc/self/smaps_rollup", "Rss:");
    report.proportional = memoryIn("/proc/self/smaps_rollup", "Pss:");
    report.peak = memoryIn("/proc/self/status", "VmHWM:");
  }
  // Less than PIPE_BUF, so that it is never mixed with another rank's.
  if (write(kReportFd, &report, sizeof report) != sizeof report)
    throw Error(ResultCode::kSystemError, "rank {} cannot report: {}", rank, errnoText(errno));
}

// Runs as a process of the job: `init_times --ranks FIRST COUNT RANKS ID`.
int runRanks(char** arguments) {
  const int first = std::atoi(arguments[2]);
  const int count = std::atoi(arguments[3]);
  const int ranks = std::atoi(arguments[4]);
  std::array<unsigned char, bootstrap::UniqueId::kBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char digits[3] = {arguments[5][2 * i], arguments[5][2 * i + 1], 0};
    bytes[i] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
  }
  const bootstrap::UniqueId id = bootstrap::UniqueId::fromBytes(bytes.data());
  const auto run = [&](int rank) {
    try {
      runRank(rank, ranks, id, rank == first);
    } catch (const std::exception& error) {
      fmt::print(stderr, "init_times: rank {}: {}\n", rank, error.what());
      std::_Exit(1);
    }
  };
  std::vector<std::thread> threads;
  for (int rank = first + 1; rank < first + count; ++rank) threads.emplace_back(run, rank);
  run(first);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

struct Run {
  double toBarrier = 0, joined = 0, processor = 0;  // milliseconds
  double resident = 0, proportional = 0, peak = 0;  // MB per rank
  std::array<double, comm::kInitParts> parts{};
};

double processorMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto of = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

std::string hexOf(const bootstrap::UniqueId& id) {
  std::string text;
  for (const std::byte b : id.bytes()) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}

pid_t start(int first, int count, int ranks, const std::string& id, int reportFd) {
  std::array<std::string, 6> words = {
      "init_times", "--ranks", std::to_string(first), std::to_string(count), std::to_string(ranks), id};
  std::array<char*, 7> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, reportFd, kReportFd);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error(ResultCode::kSystemError, "cannot start rank {}: {}", first, errnoText(error));
  return pid;
}

std::vector<Report> collect(int fd, int ranks) {
  std::vector<Report> reports(static_cast<std::size_t>(ranks));
  for (Report& report : reports) {
    pollfd readable{fd, POLLIN, 0};
    if (poll(&readable, 1, kPatienceMilliseconds) != 1 || read(fd, &report, sizeof report) != sizeof report)
      throw Error(ResultCode::kSystemError, "not every rank has reported");
  }
  return reports;
}

Run measure(int ranks, bool processes, const Settings& settings) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(ResultCode::kSystemError, "pipe: {}", errnoText(errno));
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(
      fcntl(ends[1], F_DUPFD_CLOEXEC, 10));  // not kReportFd itself, which a copy would leave closed
  close(ends[1]);
  const std::string id = hexOf(comm::newUniqueId(settings, std::make_shared<const Logger>(settings)));
  const double before = processorMilliseconds();
  const auto begin = Clock::now();
  std::vector<pid_t> children;
  const int each = processes ? 1 : ranks;
  for (int first = 0; first < ranks; first += each)
    children.push_back(start(first, each, ranks, id, writing.get()));
  writing.reset();  // reading ends when all ranks are gone
  const std::vector<Report> reports = collect(reading.get(), ranks);
  for (const pid_t child : children) waitpid(child, nullptr, 0);

  Run run;
  run.processor = (processorMilliseconds() - before) / ranks;
  for (const Report& report : reports) {
    run.toBarrier =
        std::max(run.toBarrier, milliseconds(Clock::duration(report.end) - begin.time_since_epoch()));
    run.joined = std::max(run.joined, 1e3 * report.joined);
    run.resident = std::max(run.resident, report.resident / each / 1e6);
    run.proportional += report.proportional / ranks / 1e6;
    run.peak = std::max(run.peak, report.peak / each / 1e6);
    for (std::size_t i = 0; i < comm::kInitParts; ++i) run.parts[i] += 1e3 * report.parts[i] / ranks;
  }
  return run;
}

double medianOf(std::vector<Run>& runs, const auto& value) {
  std::nth_element(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2), runs.end(),
                   [&](const Run& a, const Run& b) { return value(a) < value(b); });
  return value(runs[runs.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[1], "--ranks") == 0) return runRanks(argv);
  const int ranks = argc > 2 ? std::atoi(argv[1]) : 0;
  const std::string as = argc > 2 ? argv[2] : "";
  const int repeats = argc > 3 ? std::atoi(argv[3]) : 5;
  if (ranks < 1 || repeats < 1 || (as != "processes" && as != "threads")) {
    fmt::print(stderr, "usage: init_times RANKS processes|threads [REPEATS]\n");
    return 2;
  }
  try {
    const Settings settings = Settings::fromEnvironment();
    std::vector<Run> runs;
    for (int i = 0; i < repeats; ++i) runs.push_back(measure(ranks, as == "processes", settings));
    fmt::print("| {} {} | {:.1f} | {:.1f} |", ranks, as,
               medianOf(runs, [](const Run& r) { return r.toBarrier; }),
               medianOf(runs, [](const Run& r) { return r.joined; }));
    for (const comm::InitPart part :
         {comm::InitPart::kBootstrap, comm::InitPart::kAllGathers, comm::InitPart::kTopology,
          comm::InitPart::kGraphs, comm::InitPart::kConnections})
      fmt::print(" {:.2f} |",
                 medianOf(runs, [part](const Run& r) { return r.parts[static_cast<std::size_t>(part)]; }));
    fmt::print(" {:.2f} |", medianOf(runs, [](const Run& r) { return r.processor; }));
    fmt::print(" {:.1f} | {:.1f} | {:.1f} |\n", medianOf(runs, [](const Run& r) { return r.resident; }),
               medianOf(runs, [](const Run& r) { return r.proportional; }),
               medianOf(runs, [](const Run& r) { return r.peak; }));
  } catch (const std::exception& error) {
    fmt::print(stderr, "init_times: {}\n", error.what());
    return 1;
  }
  return 0;
}
