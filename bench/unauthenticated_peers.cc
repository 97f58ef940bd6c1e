// Cost of unauthenticated peers at a job's listening sockets: `unauthenticated_peers RANKS RATE [SECONDS]`.
//
// RANKS ranks, threads of this process, join and then compute for SECONDS in all, in blocks of three kinds
// that take turns: without other peers; with RATE unauthenticated connections per second, of all kinds, at
// every listening socket of the job, from another process; and with the same rate at an unrelated socket of
// that other process. The third kind shows which part of a delay only comes from the other process, which
// needs a core. Prints medians over the blocks, the number of connections, and the number of lines about them
// in the job's log, which is smaller, as listening sockets close.

#include "support/unauthenticated_peers.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/host_device.h"
#include "runtime/device/scheduler.h"
#include "runtime/sockets/socket.h"

namespace {

using namespace xylem;
using testing::ListeningSocket;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxStaying = 1000;
constexpr std::chrono::milliseconds kScouting{5};
constexpr std::chrono::milliseconds kBlock{500};  // of computing, after one joining
constexpr std::size_t kElements = 16384;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A listening socket that only the process with the unauthenticated peers serves.
class Unrelated {
 public:
  Unrelated() : listener_(sockets::listenTcp(sockets::SocketAddress::parse("127.0.0.1:0"))) {
    door_.bytes = sizeof door_.address;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&door_.address), &door_.bytes);
  }
  const ListeningSocket& door() const { return door_; }
  void drain() {
    while (sockets::acceptTcp(listener_.get()).socket) continue;
  }

 private:
  FileDescriptor listener_;
  ListeningSocket door_;
};

// The process with the unauthenticated peers. It reads from its standard input, again and again, a number of
// listening sockets and the sockets themselves, and at the end prints the number of connections that it made.
int flood(double rate, bool related) {
  testing::UnauthenticatedPeers peers(11, kMaxStaying);
  peers.replay(testing::recordingOf(sockets::randomSecret()));
  Unrelated unrelated;
  std::vector<ListeningSocket> doors;
  std::size_t came = 0;
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0;; ++i) {
    // The connections that are due by now.
    const double early = static_cast<double>(i) / rate - secondsSince(start);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, static_cast<int>(std::max(0.0, 1000 * early))) > 0) {
      std::size_t count = 0;
      if (std::fread(&count, sizeof count, 1, stdin) != 1) {
        fmt::print("{}\n", came);
        return 0;
      }
      doors.resize(count);
      if (std::fread(doors.data(), sizeof(ListeningSocket), count, stdin) != count) return 1;
    }
    if (!related) unrelated.drain();
    if (doors.empty()) continue;
    const ListeningSocket& door = related ? doors[i % doors.size()] : unrelated.door();
    came +=
        peers.visit(door, static_cast<testing::UnauthenticatedKind>(i % testing::kUnauthenticatedKinds));
  }
}

enum Mode { kAlone, kBesieged, kElsewhere, kModes };
constexpr const char* kModeNames[] = {"none", "at the job", "elsewhere"};

// The process with the unauthenticated peers, and the thread that sends it the listening sockets.
class Siege {
 public:
  Siege(Mode mode, double rate) {
    if (mode == kAlone) return;
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::string words[] = {"unauthenticated_peers", mode == kBesieged ? "--flood" : "--elsewhere", std::to_string(rate)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    const int error = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw Error(ResultCode::kSystemError, "cannot start them: {}", errnoText(error));
    close(to[0]);
    close(from[1]);
    to_ = FileDescriptor(to[1]);
    from_ = FileDescriptor(from[0]);
    scout_ = std::thread([this] { scout(); });
  }
  ~Siege() { end(); }
  Siege(const Siege&) = delete;
  Siege& operator=(const Siege&) = delete;

  // The number of connections.
  std::size_t end() {
    if (!scout_.joinable()) return 0;
    stop_ = true;
    scout_.join();
    to_.reset();
    char text[32] = "";
    if (read(from_.get(), text, sizeof text - 1) < 0) text[0] = 0;
    rusage usage{};
    wait4(process_, nullptr, 0, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    processor_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return std::strtoul(text, nullptr, 10);
  }
  double processor() const { return processor_; }

 private:
  void scout() {
    while (!stop_) {
      const std::vector<ListeningSocket> doors = testing::listeningSocketsOfThisProcess();
      std::vector<std::byte> message(sizeof(std::size_t) + doors.size() * sizeof(ListeningSocket));
      const std::size_t count = doors.size();
      std::memcpy(message.data(), &count, sizeof count);
      if (count > 0)
        std::memcpy(message.data() + sizeof count, doors.data(), count * sizeof(ListeningSocket));
      if (write(to_.get(), message.data(), message.size()) < 0) return;
      std::this_thread::sleep_for(kScouting);
    }
  }

  pid_t process_ = -1;
  FileDescriptor to_, from_;
  std::atomic<bool> stop_{false};
  std::thread scout_;
  double processor_ = 0;
};

struct Block {
  double join = 0;       // seconds, of the slowest rank
  double allReduce = 0;  // seconds each
};

void sum(comm::Communicator& comm, int rank, std::vector<float>& data) {
  device::OwnedStream stream(rank);
  comm::CommOperation operation;
  operation.send = operation.receive = reinterpret_cast<std::byte*>(data.data());
  operation.count = data.size();
  operation.type = DataType::kFloat32;
  operation.stream = &stream.get();
  comm.launch({&operation, 1});
  device::Scheduler::instance().wait(stream.get());
  if (const auto error = stream.get().takeError()) throw *error;
}

Block runBlock(int ranks, const Settings& settings, const std::shared_ptr<const Logger>& log) {
  const bootstrap::UniqueId id = comm::newUniqueId(settings, log);
  std::vector<Block> blocks(static_cast<std::size_t>(ranks));
  std::atomic<bool> stop{false};
  std::barrier together(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Block& block = blocks[static_cast<std::size_t>(rank)];
      Clock::time_point start = Clock::now();
      comm::Communicator comm({{id}, rank, ranks, rank}, {}, settings, log);
      comm.join();
      block.join = secondsSince(start);
      std::vector<float> data(kElements, 0), last(1, 0);
      sum(comm, rank, data);
      int rounds = 0;
      start = Clock::now();
      // All ranks stop after the same round.
      for (; last[0] == 0; ++rounds) {
        for (int i = 0; i < 20; ++i) sum(comm, rank, data);
        if (rank == 0 && Clock::now() - start > kBlock) last[0] = 1;
        sum(comm, rank, last);
      }
      block.allReduce = secondsSince(start) / (21 * rounds);
    });
  for (std::thread& thread : threads) thread.join();
  return {std::max_element(blocks.begin(), blocks.end(),
                           [](const Block& a, const Block& b) { return a.join < b.join; })
              ->join,
          blocks[0].allReduce};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::size_t droppedIn(std::FILE* file) {
  std::fflush(file);
  std::rewind(file);
  std::size_t count = 0;
  char line[1024];
  while (std::fgets(line, sizeof line, file) != nullptr)
    count += std::strstr(line, "dropped a connection") != nullptr;
  return count;
}

int measure(int ranks, double rate, double seconds) {
  Settings settings = Settings::fromEnvironment();
  settings.set(spec(Setting::kSocketIfname), "lo", "bench");
  settings.set(spec(Setting::kDebug), "INFO", "bench");
  std::FILE* const file = std::tmpfile();
  const auto log = std::make_shared<const Logger>(settings, kDefaultSubsystems, file);
  std::vector<double> joins[kModes], allReduces[kModes];
  std::size_t came[kModes] = {};
  double processor[kModes] = {};
  const Clock::time_point start = Clock::now();
  for (int i = 0; secondsSince(start) < seconds; ++i) {
    const Mode mode = static_cast<Mode>(i % kModes);
    Siege siege(mode, rate);
    const Block block = runBlock(ranks, settings, log);
    came[mode] += siege.end();
    processor[mode] += siege.processor();
    joins[mode].push_back(block.join);
    allReduces[mode].push_back(block.allReduce);
  }
  fmt::print(
      "| | joining, ms | AllReduce of 64 KiB, us | connections | their processor time, s "
      "|\n|---|---|---|---|---|\n");
  for (int mode = 0; mode < kModes; ++mode)
    fmt::print("| {} | {:.1f} ({:.2f}x) | {:.1f} ({:.2f}x) | {} | {:.2f} |\n", kModeNames[mode],
               1e3 * median(joins[mode]), median(joins[mode]) / median(joins[kAlone]),
               1e6 * median(allReduces[mode]), median(allReduces[mode]) / median(allReduces[kAlone]),
               came[mode], processor[mode]);
  fmt::print("lines about them in the log: {}\n", droppedIn(file));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const std::string first = argc > 1 ? argv[1] : "";
  try {
    if (argc == 3 && first == "--flood") return flood(std::atof(argv[2]), true);
    if (argc == 3 && first == "--elsewhere") return flood(std::atof(argv[2]), false);
    const int ranks = std::atoi(first.c_str());
    const double rate = argc > 2 ? std::atof(argv[2]) : 0;
    if (ranks > 0 && rate > 0) return measure(ranks, rate, argc > 3 ? std::atof(argv[3]) : 20);
  } catch (const std::exception& error) {
    fmt::print(stderr, "unauthenticated_peers: {}\n", error.what());
    return 1;
  }
  fmt::print(stderr, "usage: unauthenticated_peers RANKS RATE [SECONDS]\n");
  return 2;
}
