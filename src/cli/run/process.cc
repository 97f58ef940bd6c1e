#include "cli/run/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cli/run/binding.h"
#include "cli/run/remote.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// A shell's.
constexpr int kCannotExecute = 126;

struct Pipe {
  FileDescriptor read, write;
};

Pipe openPipe(int rank) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot open a pipe for rank {}: {}; `ulimit -n` may be too low",
                rank, errnoText(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Red is for failures.
std::string tagOf(int rank, const Terminal& terminal) {
  constexpr std::array kStyles = {Style::kCyan, Style::kGreen, Style::kYellow, Style::kMagenta, Style::kBlue};
  return terminal.paint(kStyles[static_cast<std::size_t>(rank) % kStyles.size()], fmt::format("[{}]", rank)) +
         " ";
}

}  // namespace

RankProcess::RankProcess(const RunOptions& options, int rank, int input)
    : rank_(rank),
      place_(options.places[static_cast<std::size_t>(rank)]),
      isHere_(options.isHere(place_)),
      out_{{}, LineTagger(tagOf(rank, terminalOf(stdout)))},
      errors_{{}, LineTagger(tagOf(rank, terminalOf(stderr)))} {
  Pipe out, errors, life;
  if (options.prefix) {
    out = openPipe(rank);
    errors = openPipe(rank);
  }
  if (!isHere_) {
    life = openPipe(rank);
    input = life.read.get();
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw Error(ResultCode::kSystemError, "cannot start rank {}: {}", rank, errnoText(errno));
  if (pid == 0) become(options, input, out.write.get(), errors.write.get(), parent);
  pid_ = pid;
  setpgid(pid, pid);  // here as in the child: whoever comes first
  out_.fd = std::move(out.read);
  errors_.fd = std::move(errors.read);
  lifeline_ = std::move(life.write);
  const std::string secret = options.meeting.secret + "\n";
  if (lifeline_ && write(lifeline_.get(), secret.data(), secret.size()) < 0)
    throw Error(ResultCode::kSystemError, "cannot talk to rank {}: {}", rank, errnoText(errno));
}

RankProcess::~RankProcess() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void RankProcess::become(const RunOptions& options, int input, int out, int errors, pid_t parent) const {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExecute);  // it died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (input < 0) input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  std::vector<std::string> words = options.program;
  Variables variables = rankVariables(place_, rank_, options.meeting);
  const Variables exports = onHost(options.exports, place_.host);
  if (isHere_) {
    for (const auto& [name, value] : exports) setenv(name.c_str(), value.c_str(), 1);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    setenv("XYLEM_SECRET", options.meeting.secret.c_str(), 1);
    if (options.bindsCores) bindTo(shareOf(usableCpus(), place_.localRank, place_.localRanks));
  } else {
    variables.insert(variables.begin(), exports.begin(), exports.end());
    words = remoteWords(options.launcher, place_.host, options.program, variables, options.graceSeconds);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const std::string text = fmt::format("xylem: cannot execute {}: {}\n", words.front(), errnoText(errno));
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(kCannotExecute + 1);
  _exit(kCannotExecute);
}

bool RankProcess::poll() {
  if (!running()) return false;
  siginfo_t info{};
  // Leaves it a zombie, so that its group's number is not given out again before the group is killed.
  if (waitid(P_PID, static_cast<id_t>(pid_.value), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return false;
  if (info.si_code != CLD_EXITED) signal_ = info.si_status;
  status_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  lifeline_.reset();
  return true;
}

std::string RankProcess::ending() const {
  const std::string who = fmt::format("rank {} (process {} on {})", rank_, pid_.value, place_.host);
  if (signal_ != 0) return fmt::format("{} was killed by signal {} ({})", who, signal_, strsignal(signal_));
  return fmt::format("{} exited with status {}", who, status_);
}

void RankProcess::stop(int signal) {
  if (!running()) return;
  if (isHere_)
    ::kill(-pid_, signal);
  else
    lifeline_.reset();
}

void RankProcess::kill() {
  lifeline_.reset();
  ::kill(-pid_, SIGKILL);
}

}  // namespace xylem::cli
