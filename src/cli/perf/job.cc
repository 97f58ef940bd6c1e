#include "cli/perf/job.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/command_line.h"
#include "cli/number_text.h"
#include "core/error.h"
#include "core/host_name.h"
#include "core/settings.h"
#include "nccl.h"
#include "runtime/launch/job_id.h"

namespace xylem::cli {
namespace {

// ---- The processes ------------------------------------------------------------------------------

// After the first failure, the time that other ranks have to report what they saw.
constexpr int kAfterwordsMilliseconds = 300;
constexpr std::size_t kMaxMissingRanges = 10;  // of missing ranks, in a message

// False if the other end is gone.
bool sendPerf(int socket, const PerfMessage& message) {
  ssize_t sent = -1;
  do {
    sent = send(socket, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}

// False if the other end is gone or, with MSG_DONTWAIT in `flags`, if there is no message now.
bool receivePerf(int socket, PerfMessage& message, int flags = 0) {
  ssize_t received = -1;
  do {
    received = recv(socket, &message, sizeof message, flags);
  } while (received < 0 && errno == EINTR);
  return received == static_cast<ssize_t>(sizeof message);
}

// Handles the failure of a rank; never returns. The other threads wait for that rank, perhaps for ever, so
// the process ends at once.
using Fail = std::function<void(int rank, const char* what)>;

// The number of a process in the job and on its host.
struct ProcessPlace {
  int process;
  int localProcess;
  int localProcesses;
};

// Runs all threads of this process; the caller's is the first one.
void runThreads(const PerfOptions& options, const ProcessPlace& place, const ncclUniqueId& id,
                const std::vector<std::unique_ptr<PerfOutlet>>& outlets, const Fail& fail) {
  const auto run = [&](int thread) {
    const int firstRank = place.process * options.ranksPerProcess() + thread * options.gpus;
    try {
      PerfThread ranks(options, firstRank,
                       place.localProcess * options.ranksPerProcess() + thread * options.gpus);
      ranks.join(id);
      ranks.run(*outlets[static_cast<std::size_t>(thread)]);
    } catch (const std::exception& error) {
      fail(firstRank, errorOf(error).what());
    }
  };
  std::vector<std::thread> others;
  try {
    for (int thread = 1; thread < options.threads; ++thread) others.emplace_back(run, thread);
  } catch (const std::exception& error) {
    fail(place.process * options.ranksPerProcess(), errorOf(error).what());
  }
  run(0);
  for (std::thread& thread : others) thread.join();
}

// Gives each rank of this host a device of its own, unless the user has set the number of devices. The
// library in this process takes its settings from the environment.
void provideDevices(const PerfOptions& options, int localProcesses) {
  setenv("XYLEM_HOST_DEVICES", std::to_string(localProcesses * options.ranksPerProcess()).c_str(), 0);
}

ncclUniqueId newId() {
  ncclUniqueId id;
  require(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
  return id;
}

// ---- A process that this command started --------------------------------------------------------

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

// Does all the work of process `process`, and reports over the socket. Returns the exit status.
int runPerfChild(const PerfOptions& options, int process, int socket) {
  const Fail fail = [socket](int rank, const char* what) {
    PerfMessage message = PerfMessage::of(PerfMessage::kFailure, rank);
    message.setText(what);
    sendPerf(socket, message);
    _exit(kFailed);
  };
  const int firstRank = process * options.ranksPerProcess();
  // The ranks join by an id of their own. NCCL_COMM_ID may be where another job meets.
  unsetenv("NCCL_COMM_ID");
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
    fail(firstRank, errorOf(error).what());
  }
  std::vector<std::unique_ptr<PerfOutlet>> outlets;
  for (int i = 0; i < options.threads; ++i) outlets.push_back(std::make_unique<SocketOutlet>(socket));
  runThreads(options, {process, process, options.processes}, id, outlets, fail);
  sendPerf(socket, PerfMessage::of(PerfMessage::kDone, firstRank));
  return kOk;
}

// ---- A process of a launcher's job --------------------------------------------------------------

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
  std::atomic<int>& heard_;  // the number of results
  std::uint64_t wrong_ = 0;
};

[[noreturn]] void endProcess(int rank, std::string_view what) {
  static std::mutex once;
  once.lock();  // never unlocked: only the first failure is reported
  std::fflush(nullptr);
  fmt::print(stderr, "xylem: rank {}: {}\n", rank, what);
  _exit(kFailed);
}

// Ends the process if there is no result for a number of seconds.
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

std::uint64_t runPerfLaunched(const PerfOptions& options, const launch::LaunchedProcess& launch,
                              PerfListener& listener) {
  const std::chrono::seconds timeout(Settings::fromEnvironment().integer(Setting::kTimeout));
  const ncclUniqueId id = launch::jobId(launch, timeout);
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

// ---- The command that starts the processes ------------------------------------------------------

PerfJob::PerfJob(const PerfOptions& options)
    : options_(options),
      cases_(casesOf(options)),
      launcher_({.onEnd = [this](Launcher&, const JobProcess& process) { ended(process); },
                 .onTimeout = [this](Launcher&) { onTimeout(); }}) {
  ranks_.resize(static_cast<std::size_t>(options.ranks()));
  children_.resize(static_cast<std::size_t>(options.processes));
  for (int process = 0; process < options.processes; ++process) start(process);
}

void PerfJob::start(int process) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ResultCode::kSystemError, "cannot open sockets for process {}: {}", process,
                errnoText(errno));
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  const auto run = [this, process, &ours, &theirs]() -> int {
    // The copies of the other processes' sockets would hide their end.
    ours.reset();
    for (Child& other : children_) other.socket.reset();
    // As programs do: then plugins are finalized, and libraries that write what they have seen do so.
    std::exit(runPerfChild(options_, process, theirs.get()));
  };
  // The ranks' own output, log lines for example, is not prefixed: it has rank and process in it.
  launcher_.start({.rank = process * options_.ranksPerProcess(),
                   .ranks = options_.ranksPerProcess(),
                   .host = hostName(),
                   .run = run,
                   .prefix = false});
  launcher_.watch(ours.get(), [this, process] { return hear(process, 0); });
  children_[static_cast<std::size_t>(process)].socket = std::move(ours);
}

int PerfJob::run(PerfListener& listener) {
  listener_ = &listener;
  restartSilence();
  return launcher_.run();
}

void PerfJob::restartSilence() {
  if (options_.timeoutSeconds > 0 && !failing_)
    launcher_.setTimeout(Deadline::after(std::chrono::seconds(options_.timeoutSeconds)));
}

bool PerfJob::hear(int process, int receiveFlags) {
  Child& child = children_[static_cast<std::size_t>(process)];
  PerfMessage message;
  if (!receivePerf(child.socket.get(), message, receiveFlags)) return false;
  restartSilence();
  Rank& rank = ranks_.at(static_cast<std::size_t>(message.rank));
  switch (message.kind) {
    case PerfMessage::kId:
      for (std::size_t other = 1; other < children_.size(); ++other)
        sendPerf(children_[other].socket.get(), message);
      break;
    case PerfMessage::kHello:
      rank.hello = message;
      break;
    case PerfMessage::kResult:
      rank.results.push_back(message);
      break;
    case PerfMessage::kFailure:
      fail(child, message.rank, message.text);
      break;
    case PerfMessage::kDone:
      child.done = true;
      break;
  }
  report();
  return true;
}

void PerfJob::ended(const JobProcess& process) {
  const int number = process.rank() / options_.ranksPerProcess();
  Child& child = children_[static_cast<std::size_t>(number)];
  // Its last messages may still be in the socket.
  while (hear(number, MSG_DONTWAIT)) {
  }
  if (child.done || child.failed) return;
  child.ended = true;
  fail(child, process.rank(), fmt::format("process {} {}", process.pid(), process.ending()));
}

void PerfJob::fail(Child& child, int rank, std::string what) {
  child.failed = true;
  child.failedRank = rank;
  child.failure = std::move(what);
  if (launcher_.ending()) return;  // because of a signal
  if (!failing_) launcher_.setTimeout(Deadline::after(std::chrono::milliseconds(kAfterwordsMilliseconds)));
  failing_ = true;
  if (allDone()) throwCause();
}

void PerfJob::onTimeout() {
  if (failing_) throwCause();
  throw Error(ResultCode::kRemoteError,
              "no rank reported anything for {} s; waiting for ranks {} (of {} ranks)",
              options_.timeoutSeconds, missingRanks(), ranks_.size());
}

void PerfJob::throwCause() const {
  // A process that ended is the cause. Messages of ranks about others are consequences.
  auto cause =
      std::find_if(children_.begin(), children_.end(), [](const Child& child) { return child.ended; });
  const auto failedFirst = [](const Child& child) {
    return child.failed && child.failure.find(" is gone") == std::string::npos;
  };
  if (cause == children_.end()) cause = std::find_if(children_.begin(), children_.end(), failedFirst);
  if (cause == children_.end())
    cause = std::find_if(children_.begin(), children_.end(), [](const Child& child) { return child.failed; });
  throw Error(ResultCode::kRemoteError, "rank {}: {}", cause->failedRank, cause->failure);
}

void PerfJob::report() {
  const auto everyRank = [&](auto&& has) { return std::all_of(ranks_.begin(), ranks_.end(), has); };
  if (!announced_ && everyRank([](const Rank& rank) { return rank.hello.kind != 0; })) {
    std::vector<PerfMessage> hellos;
    for (const Rank& rank : ranks_) hellos.push_back(rank.hello);
    listener_->joined(hellos);
    announced_ = true;
  }
  while (reported_ < cases_.size() &&
         everyRank([&](const Rank& rank) { return rank.results.size() > reported_; })) {
    std::vector<PerfMessage> results;
    for (const Rank& rank : ranks_) results.push_back(rank.results[reported_]);
    listener_->measured(cases_[reported_++], results);
  }
}

std::string PerfJob::missingRanks() const {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (announced_ ? ranks_[rank].results.size() <= reported_ : ranks_[rank].hello.kind == 0)
      missing.push_back(static_cast<int>(rank));
  return listText(missing, kMaxMissingRanges);
}

bool PerfJob::allDone() const {
  return std::all_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.done || child.failed; });
}

}  // namespace xylem::cli
