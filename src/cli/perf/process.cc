#include "cli/perf/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "cli/command_line.h"
#include "cli/perf/thread.h"
#include "core/error.h"
#include "core/settings.h"
#include "runtime/launch/job_id.h"
#include "nccl.h"

namespace xylem::cli {
namespace {

// What a rank's failure leads to; never returns. The other threads wait for that rank, perhaps for ever, so
// the process ends at once.
using Fail = std::function<void(int rank, const char* what)>;
using MakeOutlet = std::function<std::unique_ptr<PerfOutlet>()>;

struct Place {
  int process;
  int localProcess;
  int localProcesses;
};

// Runs all threads; the first one is the caller's.
void runThreads(const PerfOptions& options, const Place& place, const ncclUniqueId& id,
                const std::vector<std::unique_ptr<PerfOutlet>>& outlets, const Fail& fail) {
  const auto run = [&](int thread) {
    const int firstRank = place.process * options.ranksPerProcess() + thread * options.gpus;
    try {
      PerfThread ranks(options, firstRank,
                       place.localProcess * options.ranksPerProcess() + thread * options.gpus);
      ranks.join(id);
      ranks.run(*outlets[static_cast<std::size_t>(thread)]);
    } catch (const std::exception& error) {
      fail(firstRank, error.what());
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < options.threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& thread : others) thread.join();
}

// A device for each rank of this host, unless somebody wants to see what sharing does.
void provideDevices(const PerfOptions& options, int localProcesses) {
  setenv("XYLEM_HOST_DEVICES", std::to_string(localProcesses * options.ranksPerProcess()).c_str(), 0);
}

ncclUniqueId newId() {
  ncclUniqueId id;
  require(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
  return id;
}

class SocketOutlet : public PerfOutlet {
 public:
  explicit SocketOutlet(int socket) : socket_(socket) {}
  void joined(PerfThread&, const std::vector<PerfMessage>& hellos) override { tell(hellos); }
  void measured(PerfThread&, const PerfCase&, const std::vector<PerfMessage>& results) override {
    tell(results);
  }

 private:
  void tell(const std::vector<PerfMessage>& messages) {
    for (const PerfMessage& message : messages) sendPerf(socket_, message);
  }
  int socket_;
};

// Tells all threads of the job, of which the one with rank 0 tells the listener.
class JobOutlet : public PerfOutlet {
 public:
  JobOutlet(PerfListener& listener, std::atomic<int>& heard) : listener_(listener), heard_(heard) {}
  std::uint64_t wrong() const { return wrong_; }

  void joined(PerfThread& thread, const std::vector<PerfMessage>& hellos) override {
    const auto all = thread.exchange(hellos);
    ++heard_;
    if (thread.firstRank() == 0) listener_.joined(all);
  }
  void measured(PerfThread& thread, const PerfCase& c, const std::vector<PerfMessage>& results) override {
    const auto all = thread.exchange(results);
    ++heard_;
    for (const PerfMessage& message : all) wrong_ += message.outOfPlace.wrong + message.inPlace.wrong;
    if (thread.firstRank() == 0) listener_.measured(c, all);
  }

 private:
  PerfListener& listener_;
  std::atomic<int>& heard_;
  std::uint64_t wrong_ = 0;
};

[[noreturn]] void endProcess(int rank, std::string_view what) {
  static std::mutex once;
  once.lock();  // never unlocked: the first failure is the one that is told
  std::fflush(nullptr);
  fmt::print(stderr, "xylem: rank {}: {}\n", rank, what);
  _exit(kFailed);
}

// Ends the process if nothing is heard for so long.
class Watch {
 public:
  Watch(int seconds, int rank, const std::atomic<int>& heard) {
    if (seconds > 0)
      thread_ = std::jthread([=, &heard](std::stop_token stop) { watch(stop, seconds, rank, heard); });
  }

 private:
  static void watch(const std::stop_token& stop, int seconds, int rank, const std::atomic<int>& heard) {
    constexpr std::chrono::milliseconds kStep(100);
    int last = heard;
    auto since = std::chrono::steady_clock::now();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(kStep);
      const auto now = std::chrono::steady_clock::now();
      if (last != heard) since = now;
      last = heard;
      if (now - since > std::chrono::seconds(seconds))
        endProcess(rank, fmt::format("nothing was finished for {} s", seconds));
    }
  }
  std::jthread thread_;
};

}  // namespace

int runPerfChild(const PerfOptions& options, int process, int socket) {
  const Fail fail = [socket](int rank, const char* what) {
    PerfMessage message = PerfMessage::of(PerfMessage::kFailure, rank);
    message.setText(what);
    sendPerf(socket, message);
    _exit(kFailed);
  };
  const int firstRank = process * options.ranksPerProcess();
  provideDevices(options, options.processes);
  ncclUniqueId id;
  try {
    PerfMessage message = PerfMessage::of(PerfMessage::kId, firstRank);
    if (process == 0) {
      id = newId();
      std::memcpy(message.text, id.internal, sizeof id.internal);
      sendPerf(socket, message);
    } else {
      if (!receivePerf(socket, message)) throw Error(ResultCode::kSystemError, "there is no id to join with");
      std::memcpy(id.internal, message.text, sizeof id.internal);
    }
  } catch (const std::exception& error) {
    fail(firstRank, error.what());
  }
  std::vector<std::unique_ptr<PerfOutlet>> outlets;
  for (int i = 0; i < options.threads; ++i) outlets.push_back(std::make_unique<SocketOutlet>(socket));
  runThreads(options, {process, process, options.processes}, id, outlets, fail);
  sendPerf(socket, PerfMessage::of(PerfMessage::kDone, firstRank));
  return kOk;
}

std::uint64_t runPerfLaunched(const PerfOptions& options, const LaunchedProcess& launch,
                              PerfListener& listener) {
  const std::chrono::seconds timeout(Settings::fromEnvironment().integer(Setting::kTimeout));
  const ncclUniqueId id = jobId(launch, timeout);
  provideDevices(options, launch.localSize);
  const int firstRank = launch.rank * options.ranksPerProcess();
  std::atomic<int> heard = 0;
  std::vector<std::unique_ptr<PerfOutlet>> outlets;
  for (int i = 0; i < options.threads; ++i) outlets.push_back(std::make_unique<JobOutlet>(listener, heard));
  const Watch watch(options.timeoutSeconds, firstRank, heard);
  runThreads(options, {launch.rank, launch.localRank, launch.localSize}, id, outlets,
             [](int rank, const char* what) { endProcess(rank, what); });
  return static_cast<JobOutlet&>(*outlets.front()).wrong();
}

}  // namespace xylem::cli
