#include "comparison/process_contender.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "comparison/interruption.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 60s;
constexpr auto kAnswerPatience =
    60s;  // for the slowest command: filling the largest buffers, or 20 of the largest messages
constexpr auto kEndPatience = 5s;
constexpr int kMaxTries = 3;

struct Timing {
  double seconds;           // of all iterations
  std::uint64_t preempted;  // all ranks together
};

Timing timingOf(const std::vector<Reply>& replies) {
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
  std::uint64_t preempted = 0;
  for (const Reply& reply : replies) {
    begin = std::min(begin, reply.begin);
    end = std::max(end, reply.end);
    preempted += reply.preempted;
  }
  return {1e-9 * static_cast<double>(end - begin), preempted};
}

}  // namespace

ProcessContender::ProcessContender(std::string name, Role role, const Options& options, const Launch& launch)
    : Contender(std::move(name), role),
      options_(options),
      log_(options.folder + "/" + this->name() + ".log"),
      listener_(options.folder + "/" + this->name() + ".socket") {
  for (const CommandLine& command : launch(listener_.path())) children_.emplace_back(command, log_);
  try {
    acceptRanks();
  } catch (const Error& error) {
    endRanks();
    throw Error(ResultCode::kSystemError, "{}\n{}", error.what(), tailOf(log_));
  }
}

ProcessContender::~ProcessContender() { endRanks(); }

void ProcessContender::acceptRanks() {
  const Deadline deadline = Deadline::after(kStartPatience);
  Command join;
  join.kind = Command::kJoin;
  while (ranks_.size() < static_cast<std::size_t>(options_.ranks)) {
    pollfd readable{listener_.fd(), POLLIN, 0};
    constexpr int kLookMilliseconds = 100;
    if (poll(&readable, 1, kLookMilliseconds) == 1) {
      ranks_.push_back(listener_.accept());
      const Reply hello = hear(ranks_.back(), deadline);
      if (hello.rank == 0) {
        join.id = hello.id;
        version_ = hello.text.data();
      }
      continue;
    }
    throwIfInterrupted();
    const bool ended = std::any_of(children_.begin(), children_.end(),
                                   [](ChildProcess& child) { return child.hasEnded(Deadline::after(0ms)); });
    if (ended || deadline.passed())
      throw Error(ResultCode::kSystemError, "{} of {} ranks came{}", ranks_.size(), options_.ranks,
                  ended ? " before a process ended" : " in time");
  }
  tellAll(join);
}

// Ranks that still read commands end by themselves, and their launcher after them; others are killed.
void ProcessContender::endRanks() noexcept {
  std::vector<pid_t> pids;
  for (const ControlSocket& rank : ranks_) pids.push_back(rank.peer());
  try {
    for (const ControlSocket& rank : ranks_) rank.send(Command{});
  } catch (const Error&) {  // it has ended already
  }
  const Deadline deadline = Deadline::after(kEndPatience);
  for (ChildProcess& child : children_) child.hasEnded(deadline);
  // A process that still holds its end of the socket still runs, so its process id has not been reused.
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    pollfd state{ranks_[i].fd(), POLLIN, 0};
    poll(&state, 1, 0);
    if (pids[i] > 0 && (state.revents & POLLHUP) == 0) ::kill(pids[i], SIGKILL);
  }
  ranks_.clear();
  children_.clear();
}

Reply ProcessContender::hear(const ControlSocket& rank, const Deadline& deadline) {
  Reply reply;
  if (!rank.receive(reply, deadline))
    throw Error(ResultCode::kRemoteError, "a rank has ended\n{}", tailOf(log_));
  if (reply.failed != 0) throw Error(ResultCode::kRemoteError, "rank {}: {}", reply.rank, reply.text.data());
  return reply;
}

std::vector<Reply> ProcessContender::tellAll(const Command& command) {
  for (const ControlSocket& rank : ranks_) rank.send(command);
  const Deadline deadline = Deadline::after(kAnswerPatience);
  std::vector<Reply> replies;
  for (const ControlSocket& rank : ranks_) replies.push_back(hear(rank, deadline));
  return replies;
}

void ProcessContender::prepare(std::uint64_t bytes) {
  Command command;
  command.kind = Command::kPrepare;
  command.bytes = bytes;
  tellAll(command);
}

Command ProcessContender::commandFor(Command::Kind kind, const Case& c) const {
  Command command;
  command.kind = kind;
  command.operation = c.operation;
  command.bytes = c.bytes;
  command.inPlace = c.inPlace ? 1 : 0;
  command.rewrites = options_.rewrites ? 1 : 0;
  return command;
}

double ProcessContender::measure(const Case& c, unsigned iterations, unsigned warmUps) {
  Command command = commandFor(Command::kRun, c);
  command.iterations = iterations;
  command.warmUps = warmUps;
  command.pipelined = options_.pipelined ? 1 : 0;
  Timing least = timingOf(tellAll(command));
  // A time slice of another program is as long as a measurement.
  for (int i = 1; options_.ownCores && least.preempted > 0 && i < kMaxTries; ++i)
    if (const Timing again = timingOf(tellAll(command)); again.preempted < least.preempted) least = again;
  return least.seconds / iterations;
}

std::optional<double> ProcessContender::measureApart(const Case& c, unsigned iterations) {
  Command command = commandFor(Command::kRunApart, c);
  command.together = options_.together;
  command.iterations = iterations;
  std::int64_t longest = 0;
  for (const Reply& reply : tellAll(command)) longest = std::max(longest, reply.apart);
  return 1e-9 * static_cast<double>(longest);
}

std::optional<std::uint64_t> ProcessContender::check(const Case& c) {
  if (!options_.hasResults) return std::nullopt;
  std::uint64_t wrong = 0;
  for (const Reply& reply : tellAll(commandFor(Command::kCheck, c))) wrong += reply.wrong;
  return wrong;
}

}  // namespace xylem::bench
