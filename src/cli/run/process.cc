#include "cli/run/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// As a shell's for a program that cannot be executed.
constexpr int kCannotStart = 126;

struct Pipe {
  FileDescriptor read, write;
};

Pipe openPipe(int rank) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot open a pipe for rank {}: {}", rank, errnoText(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// "[3] " in one of a few colours. Red is left to failures.
std::string tagOf(int rank, const Terminal& terminal) {
  constexpr std::array kStyles = {Style::kCyan, Style::kGreen, Style::kYellow, Style::kMagenta, Style::kBlue};
  return terminal.paint(kStyles[static_cast<std::size_t>(rank) % kStyles.size()], fmt::format("[{}]", rank)) +
         " ";
}

// The new process from its first instruction to its last. Descriptors of -1 stay as they are, but for the
// input.
[[noreturn]] void live(const ProcessStart& start, int input, int out, int errors, pid_t parent) {
  // A group of its own: the launcher can signal the process with all that it starts, and a terminal's Ctrl-C
  // reaches the launcher alone. Should the launcher die, the kernel kills this process and the keeper its
  // group.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (input < 0) input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  int status = kCannotStart;
  try {
    status = start.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "xylem: rank {}: {}\n", start.rank, errorOf(error).what());
  }
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

JobProcess::JobProcess(const ProcessStart& start)
    : rank_(start.rank),
      ranks_(start.ranks),
      host_(start.host),
      out_{{}, LineTagger(tagOf(rank_, terminalOf(stdout)))},
      errors_{{}, LineTagger(tagOf(rank_, terminalOf(stderr)))} {
  Pipe out, errors, life;
  if (start.prefix) {
    out = openPipe(rank_);
    errors = openPipe(rank_);
  }
  int input = start.input;
  if (start.lifeline) {
    life = openPipe(rank_);
    input = life.read.get();
  }
  std::fflush(nullptr);  // or the copy could write what the buffers hold, too
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    throw Error(ResultCode::kSystemError, "cannot start rank {}: {}", rank_, startFailureText(errno));
  if (pid == 0) live(start, input, out.write.get(), errors.write.get(), parent);
  pid_ = pid;
  setpgid(pid, pid);  // the child does the same: the group must exist before either goes on
  out_.fd = std::move(out.read);
  errors_.fd = std::move(errors.read);
  lifeline_ = std::move(life.write);
  if (lifeline_ && write(lifeline_.get(), start.lifeline->data(), start.lifeline->size()) < 0)
    throw Error(ResultCode::kSystemError, "cannot talk to rank {}: {}", rank_, errnoText(errno));
}

JobProcess::~JobProcess() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool JobProcess::poll() {
  if (!running()) return false;
  siginfo_t info{};
  // Leaves it a zombie: the number of its group is not used again before the group is killed.
  if (waitid(P_PID, static_cast<id_t>(pid_.value), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return false;
  if (info.si_code != CLD_EXITED) signal_ = info.si_status;
  status_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  lifeline_.reset();
  return true;
}

std::string JobProcess::ending() const {
  if (signal_ != 0) return fmt::format("was killed by signal {} ({})", signal_, strsignal(signal_));
  // A shell between this command and the program tells of a signal in this way, as on other hosts.
  if (const int signal = status_ - 128; signal > 0 && signal <= SIGRTMAX)
    return fmt::format("exited with status {}, as after signal {} ({})", status_, signal, strsignal(signal));
  return fmt::format("exited with status {}", status_);
}

std::string JobProcess::name() const {
  return fmt::format("rank {} (process {} on {})", rank_, pid_.value, host_);
}

void JobProcess::pass(int signal) {
  if (!running()) return;
  if (!lifeline_) {
    ::kill(-pid_, signal);
    return;
  }
  const std::string line = fmt::format("{}\n", sigabbrev_np(signal));
  [[maybe_unused]] const ssize_t told = write(lifeline_.get(), line.data(), line.size());  // it may be gone
}

void JobProcess::stop(int signal) {
  if (!running()) return;
  if (lifeline_)
    lifeline_.reset();
  else
    ::kill(-pid_, signal);
}

void JobProcess::kill() {
  lifeline_.reset();
  ::kill(-pid_, SIGKILL);
}

namespace {

[[noreturn]] void keep(int pipe) {
  // A session of its own, so that signals to the terminal's or the launcher's group do not reach the keeper.
  // None of the launcher's streams, so that their readers see the end when the launcher is gone.
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  std::vector<pid_t> groups;
  pid_t group = 0;
  ssize_t count = 0;
  while ((count = read(pipe, &group, sizeof group)) == sizeof group || (count < 0 && errno == EINTR))
    if (count > 0) groups.push_back(group);
  for (const pid_t left : groups) kill(-left, SIGKILL);
  _exit(0);
}

}  // namespace

JobKeeper::JobKeeper() {
  std::fflush(nullptr);  // or the copy could write what the buffers hold, too
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot open a pipe: {}", errnoText(errno));
  FileDescriptor read(ends[0]);
  pipe_ = FileDescriptor(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw Error(ResultCode::kSystemError, "cannot start a process: {}", errnoText(errno));
  if (pid_ == 0) {
    pipe_.reset();
    keep(read.get());
  }
}

JobKeeper::~JobKeeper() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void JobKeeper::watch(pid_t group) {
  if (write(pipe_.get(), &group, sizeof group) != sizeof group)
    throw Error(ResultCode::kSystemError, "the process that would clean up is gone");
}

}  // namespace xylem::cli
