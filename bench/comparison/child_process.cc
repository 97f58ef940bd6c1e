#include "comparison/child_process.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include "comparison/interruption.h"
#include "comparison/rank_loop.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

constexpr std::size_t kTailBytes = 800;
constexpr std::chrono::seconds kPatience(20);  // for small tools

[[noreturn]] void become(const CommandLine& command, const std::string& log) {
  endWithParent();
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

pid_t start(const CommandLine& command, const std::string& log) {
  const pid_t pid = fork();
  if (pid < 0) throw Error(ResultCode::kSystemError, "cannot fork: {}", errnoText(errno));
  if (pid == 0) become(command, log);
  return pid;
}

// Returns nothing while it runs, then the status of waitpid.
bool waitUntil(const Deadline& deadline, pid_t pid, int& status) {
  constexpr std::chrono::milliseconds kStep(2);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(kStep);
  }
  return true;
}

}  // namespace

ChildProcess::ChildProcess(const CommandLine& command, const std::string& log) : pid_(start(command, log)) {}

ChildProcess::~ChildProcess() { kill(); }

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

bool ChildProcess::hasEnded(const Deadline& deadline) {
  int status = 0;
  if (pid_ > 0 && waitUntil(deadline, pid_, status)) pid_ = -1;
  return pid_ < 0;
}

void ChildProcess::interrupt() const {
  if (pid_ > 0) ::kill(pid_, SIGINT);
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string runToEnd(const CommandLine& command, const std::string& log) {
  std::ofstream(log, std::ios::trunc);
  const pid_t pid = start(command, log);
  int status = 0;
  if (!waitUntil(Deadline::after(kPatience), pid, status)) {
    ::kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  if (status != 0)
    throw Error(ResultCode::kSystemError, "`{}` failed: {}", fmt::join(command.words, " "), text.str());
  return text.str();
}

std::string tailOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string all = text.str();
  return all.size() <= kTailBytes ? all : "…" + all.substr(all.size() - kTailBytes);
}

}  // namespace xylem::bench
