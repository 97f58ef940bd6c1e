// A job whose listeners get connections from unauthenticated peers while it joins, while it computes and
// while no thread accepts: its results are right, and its log has one line for each such peer.

#include "support/unauthenticated_peers.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "core/deadline.h"
#include "core/settings.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/host_device.h"
#include "runtime/device/scheduler.h"
#include "support/sanitizers.h"

namespace xylem::comm {
namespace {

using testing::ListeningSocket;
using testing::listeningSocketsOfThisProcess;
using testing::UnauthenticatedKind;
using testing::UnauthenticatedPeers;

constexpr int kJobRanks = 4;
constexpr int kVisits = testing::kSanitized ? 400 : 2000;
// More connections at once than any listener's backlog.
constexpr std::size_t kMostStaying = 1000;

Settings settingsOf(const char* transport) {
  Settings settings;
  settings.set(spec(Setting::kSocketIfname), "lo", "test");
  settings.set(spec(Setting::kHostDevices), "8", "test");
  settings.set(spec(Setting::kTimeout), "60", "test");
  settings.set(spec(Setting::kDebug), "INFO", "test");
  if (std::string(transport) == "NET") {
    settings.set(spec(Setting::kP2pDisable), "1", "test");
    settings.set(spec(Setting::kShmDisable), "1", "test");
  }
  return settings;
}

// A log with a file of its own.
class LogFile {
 public:
  explicit LogFile(const Settings& settings)
      : file_(std::tmpfile()), log_(std::make_shared<const Logger>(settings, kDefaultSubsystems, file_)) {}
  ~LogFile() { std::fclose(file_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const std::shared_ptr<const Logger>& log() const { return log_; }
  // The log's lines about unauthenticated peers, except for those from `others`.
  std::size_t dropped(const std::string& others = "nowhere") const {
    std::string text;
    char part[65536];
    for (off_t at = 0;;) {
      const ssize_t n = pread(fileno(file_), part, sizeof part, at);
      if (n <= 0) break;
      text.append(part, static_cast<std::size_t>(n));
      at += n;
    }
    std::size_t count = 0;
    const std::string words = "dropped a connection from ";
    for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at)
      count += text.compare(at + words.size(), others.size(), others) != 0;
    return count;
  }

 private:
  std::FILE* file_;
  std::shared_ptr<const Logger> log_;
};

int allReduce(Communicator& comm, int rank, int value) {
  std::vector<int> data(5000, value);
  device::OwnedStream stream(rank);
  CommOperation sum;
  sum.send = sum.receive = reinterpret_cast<std::byte*>(data.data());
  sum.count = data.size();
  sum.type = DataType::kInt32;
  sum.stream = &stream.get();
  comm.launch({&sum, 1});
  device::Scheduler::instance().wait(stream.get());
  if (const auto error = stream.get().takeError()) throw *error;
  return *std::min_element(data.begin(), data.end()) == *std::max_element(data.begin(), data.end()) ? data[0]
                                                                                                    : -1;
}

// The listeners of this process that belong to the job: those that are not in `others`, which existed before.
std::vector<ListeningSocket> doorsBeside(const std::vector<ListeningSocket>& others) {
  std::vector<ListeningSocket> doors = listeningSocketsOfThisProcess();
  std::erase_if(doors,
                [&](const ListeningSocket& door) { return std::ranges::find(others, door) != others.end(); });
  return doors;
}

// Connects to all listeners in turn, as every kind of unauthenticated peer, `visits` times or until told to
// stop. Returns the number of connections.
std::size_t besiege(const bootstrap::UniqueId& id, const std::string& from,
                    const std::function<std::vector<ListeningSocket>()>& doors, int visits,
                    const std::atomic<bool>& stop) {
  UnauthenticatedPeers peers(7, kMostStaying, from);
  peers.replay(testing::recordingOf(bootstrap::jobSecret({&id, 1})));
  std::size_t came = 0;
  for (int i = 0; i < visits && !stop.load();) {
    for (const ListeningSocket& door : doors()) {
      came += peers.visit(door, static_cast<UnauthenticatedKind>(i % testing::kUnauthenticatedKinds));
      ++i;
    }
  }
  return came;
}

// Connections while ranks join come from this address, so that the log distinguishes their lines.
constexpr const char* kEarly = "127.0.0.2";

std::vector<ListeningSocket> tcpDoorsBeside(const std::vector<ListeningSocket>& others) {
  std::vector<ListeningSocket> doors = doorsBeside(others);
  std::erase_if(doors, [](const ListeningSocket& door) { return door.address.ss_family != AF_INET; });
  return doors;
}

class Besieged : public ::testing::TestWithParam<const char*> {};

TEST_P(Besieged, TheJobComputesAndLearnsOfEachPeer) {
  const Settings settings = settingsOf(GetParam());
  const LogFile file(settings);
  const std::vector<ListeningSocket> others = listeningSocketsOfThisProcess();
  const bootstrap::UniqueId id = newUniqueId(settings, file.log());
  std::atomic<bool> joined{false}, stop{false};
  // While ranks join, listeners open and close.
  std::thread besieger([&] {
    besiege(
        id, kEarly, [&] { return tcpDoorsBeside(others); }, 1 << 30, joined);
  });

  std::barrier together(kJobRanks + 1);
  std::atomic<bool> leave{false};
  std::vector<std::string> errors(kJobRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kJobRanks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Communicator comm({{id}, rank, kJobRanks, rank}, {}, settings, file.log());
        comm.join();
        together.arrive_and_wait();  // joined
        together.arrive_and_wait();  // besieged again
        for (int round = 0, last = 0; last == 0; ++round) {
          // All ranks leave after the same round.
          last = allReduce(comm, rank, leave.load() && rank == 0 ? 1 : 0);
          const int sum = allReduce(comm, rank, round + rank);
          if (sum != kJobRanks * round + kJobRanks * (kJobRanks - 1) / 2)
            throw std::runtime_error("a wrong sum");
        }
        together.arrive_and_wait();  // the log has been read
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
        together.arrive_and_drop();
      }
    });
  together.arrive_and_wait();
  joined = true;
  besieger.join();
  EXPECT_GT(file.dropped(), 0u);

  // These listeners stay open. At first no thread accepts; then ranks compute.
  const std::vector<ListeningSocket> doors = doorsBeside(others);
  EXPECT_GE(doors.size(), 3u * kJobRanks) << "of the bootstrap, of local connections and of the network";
  const auto always = [&] { return doors; };
  std::size_t came = besiege(id, "127.0.0.1", always, kVisits / 2, stop);
  together.arrive_and_wait();
  came += besiege(id, "127.0.0.1", always, kVisits / 2, stop);
  leave = true;
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  while (file.dropped(kEarly) < came && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(file.dropped(kEarly), came);
  EXPECT_GE(came, static_cast<std::size_t>(kVisits) * 9 / 10);
  together.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, ::testing::Each(::testing::IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Over, Besieged, ::testing::Values("P2P", "NET"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace xylem::comm
