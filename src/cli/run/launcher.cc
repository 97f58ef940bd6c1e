#include "cli/run/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "cli/number_text.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// The time for output that is still in the pipes when all processes have ended.
constexpr std::chrono::seconds kLastWords(1);
constexpr std::size_t kMaxRangesLeft = 10;

sigset_t jobSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    // A signal that this process was started to ignore, as nohup does, stays ignored: here and in the job.
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  return signals;
}

// Blocks the signals and returns the descriptor that they arrive through.
FileDescriptor takeOverSignals(sigset_t& old) {
  const sigset_t signals = jobSignals();
  sigprocmask(SIG_BLOCK, &signals, &old);
  FileDescriptor fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot receive signals: {}", errnoText(errno));
  return fd;
}

// poll(2) of those that are open. The kernel refuses more entries than the process may open files, even negative ones.
int pollOpen(std::vector<pollfd>& fds, int milliseconds) {
  std::vector<pollfd> open;
  for (const pollfd& fd : fds)
    if (fd.fd >= 0) open.push_back(fd);
  const int ready = poll(open.data(), open.size(), milliseconds);
  if (ready < 0 && errno != EINTR && errno != EAGAIN)
    throw Error(ResultCode::kSystemError, "cannot wait for the ranks: {}", errnoText(errno));
  std::size_t next = 0;
  for (pollfd& fd : fds)
    if (fd.fd >= 0) fd.revents = ready > 0 ? open[next++].revents : short{0};
  return ready;
}

}  // namespace

Launcher::Launcher(LaunchOptions options)
    : options_(std::move(options)),
      signals_(takeOverSignals(oldSignals_)),
      out_(STDOUT_FILENO),
      errors_(STDERR_FILENO) {}

Launcher::~Launcher() {
  processes_.clear();
  sigprocmask(SIG_SETMASK, &oldSignals_, nullptr);
}

void Launcher::start(ProcessStart start) {
  processes_.emplace_back(start);
  keeper_.watch(processes_.back().pid());
}

void Launcher::startWithInput(ProcessStart start) {
  input_.emplace();
  start.input = input_->processEnd();
  this->start(std::move(start));
  input_->started();
}

void Launcher::watch(int fd, std::function<bool()> onReadable) {
  watched_.push_back({fd, std::move(onReadable)});
}

void Launcher::setTimeout(std::optional<Deadline> deadline) {
  if (!ending_) timeout_ = deadline;
}

int Launcher::run() {
  try {
    while (!finished()) {
      wait();
      takeSignals();
      lookForEnds();
      lookAtTime();
    }
  } catch (...) {
    out_.write();
    errors_.write();
    throw;
  }
  return status_;
}

int Launcher::pollMilliseconds() const {
  std::optional<Deadline> next;
  for (const auto& deadline : {timeout_, grace_, lastWords_})
    if (deadline) next = next ? Deadline::earlier(*next, *deadline) : *deadline;
  return next ? next->pollMilliseconds() : -1;
}

void Launcher::wait() {
  // poll() skips descriptors that are negative. Processes are not read while their output waits for a slow
  // reader.
  std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0},
                             {out_.empty() ? -1 : out_.fd(), POLLOUT, 0},
                             {errors_.empty() ? -1 : errors_.fd(), POLLOUT, 0},
                             input_ ? input_->waitingFor() : pollfd{-1, 0, 0}};
  const std::size_t firstWatched = fds.size();
  for (const BackgroundAccept& watched : watched_) fds.push_back({watched.fd, POLLIN, 0});
  const std::size_t firstStream = fds.size();
  for (JobProcess& process : processes_) {
    fds.push_back({out_.full() ? -1 : process.out().fd.get(), POLLIN, 0});
    fds.push_back({errors_.full() ? -1 : process.errors().fd.get(), POLLIN, 0});
  }
  if (pollOpen(fds, pollMilliseconds()) <= 0) return;
  if (fds[3].revents != 0) input_->pass();
  for (std::size_t i = firstWatched; i < firstStream; ++i) {
    BackgroundAccept& watched = watched_[i - firstWatched];
    if (fds[i].revents != 0 && !watched.onReadable()) watched.fd = -1;
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (fds[firstStream + 2 * i].revents != 0) hear(processes_[i].out(), out_);
    if (fds[firstStream + 2 * i + 1].revents != 0) hear(processes_[i].errors(), errors_);
  }
  out_.write();
  errors_.write();
}

void Launcher::hear(JobProcess::Stream& stream, OutputQueue& queue) {
  std::array<char, 16384> buffer;
  const ssize_t count = read(stream.fd.get(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  if (count > 0 && !queue.broken())
    return queue.add(stream.lines.add({buffer.data(), static_cast<std::size_t>(count)}));
  // The stream has ended, or the reader of our own is gone. Then the process's next write fails as it would
  // without us.
  close(stream, queue);
}

void Launcher::close(JobProcess::Stream& stream, OutputQueue& queue) {
  queue.add(stream.lines.finish());
  stream.fd.reset();
}

void Launcher::takeSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (signal == SIGUSR1 || signal == SIGUSR2) {
      // A batch system's warning that time runs out, or a wish for a dump: for the program.
      for (JobProcess& process : processes_) process.pass(signal);
      continue;
    }
    // The second signal, or only output is left that no reader takes: end at once.
    if (ending_ || running() == 0) {
      for (JobProcess& process : processes_) process.kill();
      out_.drop();
      errors_.drop();
    }
    end(128 + signal, signal, strsignal(signal));
  }
}

void Launcher::lookForEnds() {
  // Not by SIGCHLD's number: one signal may stand for several processes.
  for (JobProcess& process : processes_) {
    if (!process.poll()) continue;
    if (options_.onEnd && !ending_)
      options_.onEnd(*this, process);
    else if (process.status() != 0)
      end(process.status(), SIGTERM, process.name() + " " + process.ending());
  }
  if (running() > 0 || allEnded_) return;
  allEnded_ = true;
  // Processes that they left behind would keep the pipes open.
  for (JobProcess& process : processes_) process.kill();
  lastWords_ = Deadline::after(kLastWords);
}

void Launcher::lookAtTime() {
  const auto isDue = [](std::optional<Deadline>& deadline) {
    if (!deadline || !deadline->passed()) return false;
    deadline.reset();
    return true;
  };
  if (isDue(timeout_) && running() > 0) options_.onTimeout(*this);
  if (isDue(grace_)) killTheRest();
  if (!isDue(lastWords_)) return;
  for (JobProcess& process : processes_) {
    close(process.out(), out_);
    close(process.errors(), errors_);
  }
}

void Launcher::killTheRest() {
  std::vector<int> left;
  for (const JobProcess& process : processes_)
    for (int i = 0; process.running() && i < process.ranks(); ++i) left.push_back(process.rank() + i);
  if (left.empty()) return;
  say(fmt::format("{} {} did not end within {} s and {} killed", left.size() == 1 ? "rank" : "ranks",
                  listText(left, kMaxRangesLeft), options_.graceSeconds, left.size() == 1 ? "was" : "were"));
  for (JobProcess& process : processes_) process.kill();
}

void Launcher::end(int status, int signal, const std::string& why) {
  if (ending_) return;
  ending_ = true;
  status_ = status;
  timeout_.reset();
  grace_ = Deadline::after(std::chrono::seconds(options_.graceSeconds));
  const int left = running();
  say(why + (left == 0 ? "" : "; ending " + counted(left, "rank")));
  for (JobProcess& process : processes_) process.stop(signal);
}

void Launcher::say(const std::string& text) {
  errors_.add(fmt::format("{} {}\n", terminalOf(stderr).paint(Style::kRed, "xylem:"), text));
}

int Launcher::running() const {
  int ranks = 0;
  for (const JobProcess& process : processes_) ranks += process.running() ? process.ranks() : 0;
  return ranks;
}

bool Launcher::finished() {
  if (running() > 0) return false;
  const auto isSilent = [](JobProcess& process) { return !process.out().fd && !process.errors().fd; };
  return std::all_of(processes_.begin(), processes_.end(), isSilent) && out_.empty() && errors_.empty();
}

}  // namespace xylem::cli
