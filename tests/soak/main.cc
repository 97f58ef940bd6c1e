// The soak: random work on random communicators, every result checked, all of it computed from one seed.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "soak/driver.h"
#include "soak/environment.h"
#include "support/effort.h"

namespace xylem::soak {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t seed = 0;
  double seconds = testing::byEffort({.quick = 5, .normal = 10, .night = 1200});
  int phases = 0;
  int fromPhase = 0;
  int ranks = kMaxRanks;
  int processes = 0;
  double patience = 60;
  bool verbose = false;

  int ranksPerProcess() const { return processes == 0 ? ranks : (ranks + processes - 1) / processes; }
};

class Ranks {
 public:
  Ranks(const Options& options, Board& board)
      : options_(options),
        board_(board),
        shape_{options.ranks, options.ranksPerProcess()},
        start_(Clock::now()) {}

  // Takes a rank through all phases, in a thread of its own.
  void live(int rank) {
    for (int phase = options_.fromPhase;; ++phase) {
      if (rank == 0) decide(phase);
      board_.barrier(options_.ranks);
      if (board_.stop.load()) return;
      const PhasePlan plan = planPhase(options_.seed, phase, shape_);
      if (rank % shape_.ranksPerProcess == 0) setVariables(plan);
      if (rank == 0)
        for (Ids& meeting : board_.meetings) meeting.atAbort.store(0);
      board_.barrier(options_.ranks);
      if (rank == 0) announce(plan, phase);
      if (plan.driver[static_cast<std::size_t>(rank)] == rank) drive(plan, phase, rank);
    }
  }

 private:
  void decide(int phase) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const bool enough =
        options_.phases > 0 ? phase >= options_.fromPhase + options_.phases : elapsed >= options_.seconds;
    if (enough) board_.stop.store(true);
    board_.phase.store(phase);
    if (phase > options_.fromPhase) board_.phases.fetch_add(1);
  }

  static void setVariables(const PhasePlan& plan) {
    const std::lock_guard lock(environmentMutex());
    for (const auto& [name, value] : plan.variables) {
      if (value.empty())
        unsetenv(name.c_str());
      else
        setenv(name.c_str(), value.c_str(), 1);
    }
    if (givenVariables().contains("NCCL_HOSTID")) return;
    // Set before other threads read the environment: later, variables are only replaced.
    if (plan.hosts.empty())
      unsetenv("NCCL_HOSTID");
    else
      setenv("NCCL_HOSTID", plan.hosts.front().c_str(), 1);
  }

  void announce(const PhasePlan& plan, int phase) const {
    if (!options_.verbose) return;
    std::string text = fmt::format("phase {}:", phase);
    for (const auto& [name, value] : plan.variables)
      if (!value.empty()) text += fmt::format(" {}={}", name, value);
    if (!plan.hosts.empty()) text += fmt::format(" hosts: {}..{}", plan.hosts.front(), plan.hosts.back());
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      text += fmt::format("\n  step {}: {}", i, name(step.kind));
      if (step.comm >= 0) text += fmt::format(" {}", step.comm);
      for (const int comm : step.comms) text += fmt::format(" {}", comm);
      for (const Part& part : step.parts) text += fmt::format(", {}", part.comm);
      if (!step.aborting.empty()) text += fmt::format(" by {}", fmt::join(step.aborting, ", "));
      if (!step.operations.empty()) text += step.grouped ? ", a group" : ", one by one";
      for (const Operation& operation : step.operations) text += "\n    " + describe(operation);
    }
    text += "\n  drivers: " + fmt::format("{}", fmt::join(plan.driver, " "));
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  void drive(const PhasePlan& plan, int phase, int driver) {
    std::vector<std::unique_ptr<Actor>> actors;
    for (int rank = 0; rank < options_.ranks; ++rank)
      if (plan.driver[static_cast<std::size_t>(rank)] == driver)
        actors.push_back(std::make_unique<Actor>(
            rank, phase, board_, plan,
            Random(options_.seed, static_cast<std::uint64_t>(phase), static_cast<std::uint64_t>(rank))));
    Driver(board_, plan, phase, std::move(actors)).run();
  }

  const Options& options_;
  Board& board_;
  const JobShape shape_;
  const Clock::time_point start_;
};

// Watches the ranks: whether they make progress, whether their processes live.
class Watch {
 public:
  Watch(const Options& options, Board& board) : options_(options), board_(board) {}

  // Watches until `over` says so. Returns the exit status.
  template <typename Over>
  int wait(Over&& over) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    while (!over()) {
      usleep(20'000);
      if (board_.failed.load()) return 1;
      if (stalled()) return 2;
      if (terminal && ++looks_ % 10 == 0)
        fmt::print(stderr, "\rphase {}, {} operations, {} wrong ", board_.phase.load(),
                   board_.operations.load(), board_.wrong.load());
    }
    if (terminal) fmt::print(stderr, "\r");
    return board_.failed.load() || board_.wrong.load() > 0 ? 1 : 0;
  }

 private:
  bool stalled() {
    std::uint64_t beats = 0;
    for (const RankState& rank : board_.ranks) beats += rank.beats.load(std::memory_order_relaxed);
    if (beats != beats_ || board_.phase.load() != phase_) {
      beats_ = beats;
      phase_ = board_.phase.load();
      last_ = Clock::now();
    }
    if (Clock::now() - last_ < std::chrono::duration<double>(options_.patience)) return false;
    fmt::print(stderr, "soak: HANG: nothing went on for {} s in phase {} of seed {}\n", options_.patience,
               board_.phase.load(), options_.seed);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const RankState& state = board_.ranks[static_cast<std::size_t>(rank)];
      fmt::print(stderr, "  rank {}: step {}, {}, communicator {}\n", rank, state.step.load(),
                 state.doing.load(), state.comm.load());
    }
    return true;
  }

  const Options& options_;
  Board& board_;
  std::uint64_t beats_ = 0;
  int phase_ = -1, looks_ = 0;
  Clock::time_point last_ = Clock::now();
};

void liveAs(Ranks& ranks, int first, int last, std::vector<std::thread>& threads) {
  for (int rank = first; rank < last; ++rank) threads.emplace_back([&ranks, rank] { ranks.live(rank); });
}

int runThreads(const Options& options, Board& board) {
  Ranks ranks(options, board);
  std::vector<std::thread> threads;
  std::atomic<int> left{options.ranks};
  for (int rank = 0; rank < options.ranks; ++rank)
    threads.emplace_back([&, rank] {
      ranks.live(rank);
      left.fetch_sub(1);
    });
  const int status = Watch(options, board).wait([&] { return left.load() == 0; });
  if (status == 2) {
    std::fflush(nullptr);
    std::_Exit(2);
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

int runProcesses(const Options& options, Board& board) {
  std::vector<pid_t> children;
  const int each = options.ranksPerProcess();
  for (int first = 0; first < options.ranks; first += each) {
    const pid_t pid = fork();
    if (pid == 0) {
      Ranks ranks(options, board);
      std::vector<std::thread> threads;
      liveAs(ranks, first, std::min(options.ranks, first + each), threads);
      for (std::thread& thread : threads) thread.join();
      std::exit(0);
    }
    if (pid > 0) children.push_back(pid);
  }
  const int status = Watch(options, board).wait([&] {
    std::erase_if(children, [&](pid_t pid) {
      int how = 0;
      if (waitpid(pid, &how, WNOHANG) != pid) return false;
      if (how != 0) {
        board.failed.store(true);
        if (WIFSIGNALED(how))
          fmt::print(stderr, "soak: process {} was ended by signal {} in phase {} of seed {}\n", pid,
                     WTERMSIG(how), board.phase.load(), options.seed);
      }
      return true;
    });
    return children.empty();
  });
  for (const pid_t pid : children) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return status;
}

Options readOptions(int argc, char** argv, int* exitStatus) {
  Options options;
  if (const char* seed = std::getenv("XYLEM_SOAK_SEED")) options.seed = std::strtoull(seed, nullptr, 0);
  CLI::App app(
      "Runs random communicators and operations for a while and checks every result.\n"
      "Exit status: 0 all right, 1 something was wrong, 2 something hung.");
  app.add_option("--seed", options.seed, "of everything; default XYLEM_SOAK_SEED, or by chance");
  app.add_option("--seconds", options.seconds, "how long to go on")->capture_default_str();
  app.add_option("--phases", options.phases, "end after so many phases instead");
  app.add_option("--from-phase", options.fromPhase, "start with this phase of the seed");
  app.add_option("--ranks", options.ranks, "ranks")->check(CLI::Range(1, kMaxRanks))->capture_default_str();
  app.add_option("--processes", options.processes,
                 "spread the ranks over so many processes; default: all are threads of this one")
      ->check(CLI::Range(1, kMaxRanks));
  app.add_option("--patience", options.patience, "seconds without anything going on that count as a hang")
      ->capture_default_str();
  app.add_flag("--verbose", options.verbose, "print every phase's plan");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exitStatus = app.exit(error) == 0 ? 0 : 3;
  }
  if (options.seed == 0) options.seed = std::random_device()() % 1'000'000'000 + 1;
  return options;
}

}  // namespace
}  // namespace xylem::soak

int main(int argc, char** argv) {
  using namespace xylem::soak;
  int exitStatus = -1;
  const Options options = readOptions(argc, argv, &exitStatus);
  if (exitStatus >= 0) return exitStatus;
  std::string given;
  for (const auto& [name, value] : givenVariables()) given += fmt::format("{}='{}' ", name, value);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("XYLEM_HOST_DEVICES", std::to_string(kMaxRanks).c_str(), 0);
  Board& board = makeBoard();
  const std::string mode = options.processes == 0 ? "" : fmt::format(" --processes {}", options.processes);
  const std::string ranks = options.ranks == kMaxRanks ? "" : fmt::format(" --ranks {}", options.ranks);
  fmt::print("soak: seed {}; to see it again: {}soak --seed {}{}{} --from-phase PHASE --phases 1\n",
             options.seed, given, options.seed, mode, ranks);
  std::fflush(stdout);
  const int status = options.processes == 0 ? runThreads(options, board) : runProcesses(options, board);
  fmt::print("soak: {} phases, {} communicators, {} operations, {:.1f} MB, {} aborts, {} wrong\n",
             board.phases.load(), board.comms.load(), board.operations.load(),
             static_cast<double>(board.bytes.load()) / 1e6, board.aborts.load(), board.wrong.load());
  return status;
}
