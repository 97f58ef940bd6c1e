#include "cli/perf_job.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// After the first failure: how long the others may take to say what they saw.
constexpr int kAfterwordsMilliseconds = 300;

}  // namespace

PerfJob::PerfJob(const PerfOptions& options) : options_(options), cases_(casesOf(options)) {
  std::fflush(nullptr);  // or every process would write what is in the buffers
  children_.resize(static_cast<std::size_t>(options.ranks));
  for (int rank = 0; rank < options.ranks; ++rank) start(rank);
}

PerfJob::~PerfJob() {
  for (Child& child : children_)
    if (child.pid > 0) kill(child.pid, SIGKILL);
  for (Child& child : children_)
    if (child.pid > 0) waitpid(child.pid, nullptr, 0);
}

void PerfJob::start(int rank) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ResultCode::kSystemError, "cannot open sockets for rank {}: {}", rank, errnoText(errno));
  FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Error(ResultCode::kSystemError, "cannot start rank {}: {}", rank, errnoText(errno));
  if (pid == 0) {
    ours.reset();
    runChild(rank, theirs.get(), parent);
  }
  Child& child = children_[static_cast<std::size_t>(rank)];
  child.pid = pid;
  child.socket = std::move(ours);
}

void PerfJob::runChild(int rank, int socket, pid_t parent) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kFailed);  // it died before the line above
  for (const Child& other : children_)
    if (other.socket) close(other.socket.get());
  const int status = runPerfRank(options_, rank, socket);
  std::fflush(nullptr);
  _exit(status);
}

void PerfJob::run(PerfListener& listener) {
  bool announced = false;
  std::size_t reported = 0;
  Deadline deadline = Deadline::after(std::chrono::seconds(options_.timeoutSeconds));
  while (!allDone()) {
    somethingHeard_ = false;
    listen(deadline.pollMilliseconds());
    checkFailures();
    const auto everybody = [&](auto&& has) { return std::all_of(children_.begin(), children_.end(), has); };
    if (!announced && everybody([](const Child& c) { return c.hello.kind != 0; })) {
      std::vector<PerfMessage> hellos;
      for (const Child& child : children_) hellos.push_back(child.hello);
      listener.joined(hellos);
      announced = true;
    }
    while (reported < cases_.size() &&
           everybody([&](const Child& c) { return c.results.size() > reported; })) {
      std::vector<PerfMessage> results;
      for (const Child& child : children_) results.push_back(child.results[reported]);
      listener.measured(cases_[reported++], results);
    }
    if (somethingHeard_) deadline = Deadline::after(std::chrono::seconds(options_.timeoutSeconds));
    if (deadline.passed()) {
      std::string waiting;
      for (std::size_t rank = 0; rank < children_.size(); ++rank)
        if (children_[rank].results.size() == reported)
          waiting += (waiting.empty() ? "" : ", ") + std::to_string(rank);
      throw Error(ResultCode::kRemoteError, "no rank reported anything for {} s; waiting for ranks {} of {}",
                  options_.timeoutSeconds, waiting, children_.size());
    }
  }
  for (Child& child : children_) {
    waitpid(child.pid, nullptr, 0);
    child.pid = -1;
  }
}

void PerfJob::listen(int milliseconds) {
  std::vector<pollfd> fds;
  for (const Child& child : children_) fds.push_back({child.done ? -1 : child.socket.get(), POLLIN, 0});
  if (poll(fds.data(), fds.size(), milliseconds) <= 0) return;
  for (std::size_t rank = 0; rank < fds.size(); ++rank)
    if (fds[rank].revents != 0) hear(static_cast<int>(rank));
}

void PerfJob::hear(int rank) {
  Child& child = children_[static_cast<std::size_t>(rank)];
  PerfMessage message;
  somethingHeard_ = true;
  if (!receivePerf(child.socket.get(), message)) {
    child.done = child.failed = true;
    child.failure = howItEnded(child);
    return;
  }
  switch (message.kind) {
    case PerfMessage::kId:
      for (std::size_t other = 1; other < children_.size(); ++other)
        sendPerf(children_[other].socket.get(), message);
      break;
    case PerfMessage::kHello:
      child.hello = message;
      break;
    case PerfMessage::kResult:
      child.results.push_back(message);
      break;
    case PerfMessage::kFailure:
      child.done = child.failed = true;
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
  throw Error(ResultCode::kRemoteError, "rank {}: {}", cause - children_.begin(), cause->failure);
}

bool PerfJob::allDone() const {
  return std::all_of(children_.begin(), children_.end(), [](const Child& child) { return child.done; });
}

}  // namespace xylem::cli
