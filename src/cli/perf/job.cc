#include "cli/perf/job.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command_line.h"
#include "cli/number_list.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// After the first failure: how long the others may take to say what they saw.
constexpr int kAfterwordsMilliseconds = 300;
constexpr std::size_t kMaxMissingRanges = 10;  // of missing ranks, in a message

}  // namespace

PerfJob::PerfJob(const PerfOptions& options) : options_(options), cases_(casesOf(options)) {
  std::fflush(nullptr);  // or every process would write what is in the buffers
  ranks_.resize(static_cast<std::size_t>(options.ranks()));
  children_.resize(static_cast<std::size_t>(options.processes));
  for (int process = 0; process < options.processes; ++process) start(process);
}

PerfJob::~PerfJob() {
  for (Child& child : children_)
    if (child.pid > 0) kill(child.pid, SIGKILL);
  for (Child& child : children_)
    if (child.pid > 0) waitpid(child.pid, nullptr, 0);
}

void PerfJob::start(int process) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ResultCode::kSystemError, "cannot open sockets for process {}: {}", process,
                errnoText(errno));
  FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    throw Error(ResultCode::kSystemError, "cannot start process {}: {}", process, errnoText(errno));
  if (pid == 0) {
    ours.reset();
    runChild(process, theirs.get(), parent);
  }
  Child& child = children_[static_cast<std::size_t>(process)];
  child.pid = pid;
  child.socket = std::move(ours);
}

void PerfJob::runChild(int process, int socket, pid_t parent) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kFailed);  // it died before the line above
  for (const Child& other : children_)
    if (other.socket) close(other.socket.get());
  const int status = runPerfChild(options_, process, socket);
  std::fflush(nullptr);
  _exit(status);
}

void PerfJob::run(PerfListener& listener) {
  const auto silence = std::chrono::seconds(options_.timeoutSeconds);
  Deadline deadline = Deadline::after(silence);
  while (!allDone()) {
    somethingHeard_ = false;
    listen(options_.timeoutSeconds > 0 ? deadline.pollMilliseconds() : -1);
    checkFailures();
    report(listener);
    if (somethingHeard_) deadline = Deadline::after(silence);
    if (options_.timeoutSeconds > 0 && deadline.passed())
      throw Error(ResultCode::kRemoteError,
                  "no rank reported anything for {} s; waiting for ranks {} (of {} ranks)",
                  options_.timeoutSeconds, missingRanks(), ranks_.size());
  }
  for (Child& child : children_) {
    waitpid(child.pid, nullptr, 0);
    child.pid = -1;
  }
}

void PerfJob::report(PerfListener& listener) {
  const auto everybody = [&](auto&& has) { return std::all_of(ranks_.begin(), ranks_.end(), has); };
  if (!announced_ && everybody([](const Rank& rank) { return rank.hello.kind != 0; })) {
    std::vector<PerfMessage> hellos;
    for (const Rank& rank : ranks_) hellos.push_back(rank.hello);
    listener.joined(hellos);
    announced_ = true;
  }
  while (reported_ < cases_.size() &&
         everybody([&](const Rank& rank) { return rank.results.size() > reported_; })) {
    std::vector<PerfMessage> results;
    for (const Rank& rank : ranks_) results.push_back(rank.results[reported_]);
    listener.measured(cases_[reported_++], results);
  }
}

std::string PerfJob::missingRanks() const {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (announced_ ? ranks_[rank].results.size() <= reported_ : ranks_[rank].hello.kind == 0)
      missing.push_back(static_cast<int>(rank));
  return listText(missing, kMaxMissingRanges);
}

void PerfJob::listen(int milliseconds) {
  std::vector<pollfd> fds;
  for (const Child& child : children_) fds.push_back({child.done ? -1 : child.socket.get(), POLLIN, 0});
  if (poll(fds.data(), fds.size(), milliseconds) <= 0) return;
  for (std::size_t process = 0; process < fds.size(); ++process)
    if (fds[process].revents != 0) hear(static_cast<int>(process));
}

void PerfJob::hear(int process) {
  Child& child = children_[static_cast<std::size_t>(process)];
  PerfMessage message;
  somethingHeard_ = true;
  if (!receivePerf(child.socket.get(), message)) {
    child.done = child.failed = true;
    child.failedRank = process * options_.ranksPerProcess();
    child.failure = howItEnded(child);
    return;
  }
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
      child.done = child.failed = true;
      child.failedRank = message.rank;
      child.failure = message.text;
      break;
    case PerfMessage::kDone:
      child.done = true;
      break;
  }
}

std::string PerfJob::howItEnded(Child& child) {
  int status = 0;
  const pid_t pid = std::exchange(child.pid, -1);
  if (waitpid(pid, &status, 0) != pid) return "ended, nobody knows how";
  if (WIFSIGNALED(status))
    return fmt::format("process {} was killed by signal {} ({})", pid, WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("process {} ended early with exit status {}", pid, WEXITSTATUS(status));
}

void PerfJob::checkFailures() {
  const auto failed = [](const Child& child) { return child.failed; };
  if (std::none_of(children_.begin(), children_.end(), failed)) return;
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(kAfterwordsMilliseconds));
  while (!deadline.passed() && !allDone()) listen(deadline.pollMilliseconds());
  // A process that ended is the cause; what ranks say about others is the consequence.
  const auto ended = [](const Child& child) { return child.failed && child.pid < 0; };
  auto cause = std::find_if(children_.begin(), children_.end(), ended);
  if (cause == children_.end()) cause = std::find_if(children_.begin(), children_.end(), failed);
  throw Error(ResultCode::kRemoteError, "rank {}: {}", cause->failedRank, cause->failure);
}

bool PerfJob::allDone() const {
  return std::all_of(children_.begin(), children_.end(), [](const Child& child) { return child.done; });
}

}  // namespace xylem::cli
