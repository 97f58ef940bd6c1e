#include "cli/run/job.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cli/number_list.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// What timeout(1) returns when time is up.
constexpr int kTimedOut = 124;
// For what is still in the pipes when all ranks have ended.
constexpr std::chrono::seconds kLastWords(1);
constexpr std::size_t kMaxRangesLeft = 10;

// From here on they arrive through the descriptor, while nothing is interrupted.
FileDescriptor takeOverSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  FileDescriptor fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot receive signals: {}", errnoText(errno));
  return fd;
}

}  // namespace

RunJob::RunJob(const RunOptions& options)
    : options_(options), signals_(takeOverSignals()), out_(STDOUT_FILENO), errors_(STDERR_FILENO) {}

int RunJob::run() {
  start();
  while (!finished()) {
    wait();
    takeSignals();
    lookForEnds();
    lookAtTime();
  }
  return status_;
}

void RunJob::start() {
  if (options_.timeoutSeconds > 0) timeout_ = Deadline::after(std::chrono::seconds(options_.timeoutSeconds));
  ranks_.reserve(options_.places.size());
  for (std::size_t rank = 0; rank < options_.places.size(); ++rank) {
    ranks_.emplace_back(options_, static_cast<int>(rank), rank == 0 ? input_.rankEnd() : -1);
    keeper_.watch(ranks_.back().pid());
    if (rank == 0) input_.started();
  }
}

int RunJob::pollMilliseconds() const {
  // Each is reset when it has passed and was acted upon.
  std::optional<Deadline> next;
  for (const auto& deadline : {timeout_, grace_, lastWords_})
    if (deadline) next = next ? Deadline::earlier(*next, *deadline) : *deadline;
  return next ? next->pollMilliseconds() : -1;
}

void RunJob::wait() {
  std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0},
                             {out_.empty() ? -1 : out_.fd(), POLLOUT, 0},
                             {errors_.empty() ? -1 : errors_.fd(), POLLOUT, 0},
                             input_.waitingFor()};
  const std::size_t fixed = fds.size();
  for (RankProcess& rank : ranks_) {
    fds.push_back({out_.full() ? -1 : rank.out().fd.get(), POLLIN, 0});
    fds.push_back({errors_.full() ? -1 : rank.errors().fd.get(), POLLIN, 0});
  }
  if (poll(fds.data(), fds.size(), pollMilliseconds()) <= 0) return;
  if (fds[3].revents != 0) input_.pass();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (fds[fixed + 2 * i].revents != 0) hear(ranks_[i].out(), out_);
    if (fds[fixed + 2 * i + 1].revents != 0) hear(ranks_[i].errors(), errors_);
  }
  out_.write();
  errors_.write();
}

void RunJob::hear(RankProcess::Stream& stream, OutputQueue& queue) {
  std::array<char, 16384> buffer;
  const ssize_t count = read(stream.fd.get(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  if (count > 0 && !queue.broken())
    return queue.add(stream.lines.add({buffer.data(), static_cast<std::size_t>(count)}));
  // Its end, or the end of those who read ours: then the rank's next write fails as it would without us.
  close(stream, queue);
}

void RunJob::close(RankProcess::Stream& stream, OutputQueue& queue) {
  queue.add(stream.lines.finish());
  stream.fd.reset();
}

void RunJob::takeSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (ending_ || running() == 0) {  // once more, or nothing left but output that nobody reads
      for (RankProcess& rank : ranks_) rank.kill();
      out_.drop();
      errors_.drop();
    }
    end(128 + signal, signal, strsignal(signal));
  }
}

void RunJob::lookForEnds() {
  for (RankProcess& rank : ranks_)
    if (rank.poll() && rank.status() != 0) end(rank.status(), SIGTERM, rank.ending());
  if (running() > 0 || allEnded_) return;
  allEnded_ = true;
  // What the ranks started and left behind would keep the pipes open.
  for (RankProcess& rank : ranks_) rank.kill();
  lastWords_ = Deadline::after(kLastWords);
}

void RunJob::lookAtTime() {
  const auto isDue = [](std::optional<Deadline>& deadline) {
    if (!deadline || !deadline->passed()) return false;
    deadline.reset();
    return true;
  };
  if (isDue(timeout_) && running() > 0)
    end(kTimedOut, SIGTERM, fmt::format("not done after {} s", options_.timeoutSeconds));
  if (isDue(grace_)) killTheRest();
  if (!isDue(lastWords_)) return;
  for (RankProcess& rank : ranks_) {
    close(rank.out(), out_);
    close(rank.errors(), errors_);
  }
}

void RunJob::killTheRest() {
  std::vector<int> left;
  for (const RankProcess& rank : ranks_)
    if (rank.running()) left.push_back(rank.rank());
  if (left.empty()) return;
  say(fmt::format("{} {} did not end within {} s and {} killed", left.size() == 1 ? "rank" : "ranks",
                  listText(left, kMaxRangesLeft), options_.graceSeconds, left.size() == 1 ? "was" : "were"));
  for (RankProcess& rank : ranks_) rank.kill();
}

void RunJob::end(int status, int signal, const std::string& why) {
  if (ending_) return;
  ending_ = true;
  status_ = status;
  timeout_.reset();
  grace_ = Deadline::after(std::chrono::seconds(options_.graceSeconds));
  const std::size_t left = running();
  const std::string rest = left == 0 ? "" : fmt::format("; ending {} {}", left, left == 1 ? "rank" : "ranks");
  say(why + rest);
  for (RankProcess& rank : ranks_) rank.stop(signal);
}

void RunJob::say(const std::string& text) {
  errors_.add(fmt::format("{} {}\n", terminalOf(stderr).paint(Style::kRed, "xylem:"), text));
}

std::size_t RunJob::running() const {
  return static_cast<std::size_t>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) { return rank.running(); }));
}

bool RunJob::finished() {
  if (running() > 0) return false;
  const auto silent = [](RankProcess& rank) { return !rank.out().fd && !rank.errors().fd; };
  return std::all_of(ranks_.begin(), ranks_.end(), silent) && out_.empty() && errors_.empty();
}

}  // namespace xylem::cli
