#include "faults/rank_pool.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <regex>
#include <sstream>
#include <thread>

#include "faults/rank_role.h"

namespace xylem::testing {
namespace {

using Clock = std::chrono::steady_clock;

Reply parse(const std::string& line) {
  Reply reply{};
  std::istringstream in(line);
  long long at = 0;
  in >> reply.word >> reply.code >> at;
  reply.at = std::chrono::nanoseconds(at);
  std::getline(in >> std::ws, reply.text);
  return reply;
}

}  // namespace

RankPool::RankPool(int ranks, const Environment& variables)
    : variables_(variables), processes_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) start(rank);
}

RankPool::~RankPool() {
  for (Process& process : processes_) end(process);
}

void RankPool::start(int rank) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  process.control = FileDescriptor(ends[0]);
  process.unread.clear();
  const FileDescriptor theirs(ends[1]);
  std::vector<std::string> variables{"XYLEM_TEST_FAULT_RANK=" + std::to_string(rank)};
  for (const auto& [name, value] : variables_) variables.push_back(name + "=" + value);
  for (char** v = environ; *v != nullptr; ++v) variables.emplace_back(*v);
  std::vector<char*> environment;
  for (std::string& v : variables) environment.push_back(v.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), kControlFd);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=FaultRank.Role", brief = "--gtest_brief=1";
  std::array<char*, 4> arguments{program.data(), filter.data(), brief.data(), nullptr};
  const int error =
      posix_spawn(&process.pid, program.c_str(), &files, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  ASSERT_EQ(error, 0);
}

void RankPool::end(Process& process) {
  process.control.reset();
  if (process.pid <= 0) return;
  kill(process.pid, SIGKILL);
  waitpid(process.pid, nullptr, 0);
  process.pid = -1;
}

void RankPool::renew(int rank) {
  end(processes_[static_cast<std::size_t>(rank)]);
  start(rank);
}

void RankPool::signal(int rank, int number) const {
  kill(processes_[static_cast<std::size_t>(rank)].pid, number);
}

void RankPool::tell(int rank, const std::string& line) {
  const std::string text = line + "\n";
  const int fd = processes_[static_cast<std::size_t>(rank)].control.get();
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()))
      << "rank " << rank;
}

Reply RankPool::reply(int rank) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  const auto end = Clock::now() + kBound;
  for (;;) {
    if (const std::size_t newline = process.unread.find('\n'); newline != std::string::npos) {
      const Reply reply = parse(process.unread.substr(0, newline));
      process.unread.erase(0, newline + 1);
      return reply;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd fd{process.control.get(), POLLIN, 0};
    if (left <= 0 || poll(&fd, 1, static_cast<int>(left)) == 0) {
      ADD_FAILURE() << "rank " << rank << " does not answer within " << kBound.count() << " s";
      return {"silent", 0, {}, ""};
    }
    char part[4096];
    const ssize_t n = read(process.control.get(), part, sizeof part);
    if (n <= 0) return {"ended", 0, {}, ""};
    process.unread.append(part, static_cast<std::size_t>(n));
  }
}

bool RankPool::struck(const Process& process) const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process.pid;
}

std::optional<std::chrono::nanoseconds> RankPool::awaitStrike(int rank) {
  const Process& process = processes_[static_cast<std::size_t>(rank)];
  const auto end = Clock::now() + kBound;
  for (; Clock::now() < end; std::this_thread::sleep_for(std::chrono::microseconds(100))) {
    if (struck(process)) return Clock::now().time_since_epoch();
    char letter;
    // A process that dies closes its end first.
    if (recv(process.control.get(), &letter, 1, MSG_PEEK | MSG_DONTWAIT) > 0) return std::nullopt;
  }
  ADD_FAILURE() << "rank " << rank << " is neither struck nor does it answer";
  return std::nullopt;
}

std::string summary(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return "none";
  std::sort(milliseconds.begin(), milliseconds.end());
  return fmt::format("{} reactions, median {:.1f} ms, longest {:.1f} ms", milliseconds.size(),
                     milliseconds[milliseconds.size() / 2], milliseconds.back());
}

bool names(const std::string& text, int rank) {
  // In lists, too: "ranks 1, 3 have not arrived".
  return std::regex_search(text, std::regex(fmt::format("\\branks? (\\d+, )*{}\\b", rank)));
}

}  // namespace xylem::testing
