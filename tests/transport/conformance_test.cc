// What every transport has to do, in one process and across several. A new transport joins by adding its
// maker to the list at the end.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "transport/shm.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;

struct Maker {
  const char* name;
  std::unique_ptr<Transport> (*make)(int rank, std::size_t bufferBytes);
};

Waiting seconds(int n, std::function<void()> look = {}) {
  return {Deadline::after(std::chrono::seconds(n)), std::move(look)};
}

class TransportConformance : public ::testing::TestWithParam<Maker> {
 protected:
  // As many transports as ranks, and what they know of each other.
  void makeRanks(int n, std::size_t bufferBytes = 8192) {
    for (int rank = 0; rank < n; ++rank) {
      transports_.push_back(GetParam().make(rank, bufferBytes));
      Peer peer;
      peer.rank = rank;
      peer.hostHash = 1;
      peer.shm = transports_.back()->listen();
      peers_.push_back(peer);
    }
  }
  std::vector<std::unique_ptr<Connection>> connect(int rank, std::vector<ConnectionRequest> requests,
                                                   const Waiting& waiting = seconds(20)) {
    return transports_[static_cast<std::size_t>(rank)]->connect(requests, peers_, waiting);
  }
  // Both ends of a pair, connected by two threads.
  void connectPair(int sends, int receives) {
    std::thread other([&] { b_ = connect(1, {{0, receives, sends}}); });
    a_ = connect(0, {{1, sends, receives}});
    other.join();
  }

  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Peer> peers_;
  std::vector<std::unique_ptr<Connection>> a_, b_;
};

void put(FifoWriter& writer, std::uint64_t value) {
  while (!writer.ready()) std::this_thread::yield();
  std::memcpy(writer.slot(), &value, sizeof value);
  writer.push();
}
std::uint64_t take(FifoReader& reader) {
  while (!reader.ready()) std::this_thread::yield();
  std::uint64_t value = 0;
  std::memcpy(&value, reader.slot(), sizeof value);
  reader.pop();
  return value;
}
PeerNews waitForNews(Connection& connection) {
  PeerNews news = connection.news();
  while (news.state == PeerState::kThere) {
    std::this_thread::yield();
    news = connection.news();
  }
  return news;
}

TEST_P(TransportConformance, SaysWhyItCannotConnect) {
  makeRanks(2);
  EXPECT_TRUE(transports_[0]->isViable(peers_[0], peers_[1]).viable);
  peers_[1].hostHash = 2;
  const Viability viability = transports_[0]->isViable(peers_[0], peers_[1]);
  EXPECT_FALSE(viability.viable);
  EXPECT_THAT(viability.reason, HasSubstr("rank 1 is on another host"));
}

TEST_P(TransportConformance, CarriesSlotsBothWaysOnEveryQueue) {
  makeRanks(2);
  connectPair(2, 3);
  for (int q = 0; q < 2; ++q) put(a_[0]->writer(q), static_cast<std::uint64_t>(100 + q));
  for (int q = 0; q < 3; ++q) put(b_[0]->writer(q), static_cast<std::uint64_t>(200 + q));
  for (int q = 0; q < 2; ++q) EXPECT_EQ(take(b_[0]->reader(q)), 100u + static_cast<unsigned>(q));
  for (int q = 0; q < 3; ++q) EXPECT_EQ(take(a_[0]->reader(q)), 200u + static_cast<unsigned>(q));
  EXPECT_EQ(a_[0]->peer(), 1);
  EXPECT_EQ(b_[0]->peer(), 0);
}

TEST_P(TransportConformance, SlotsHoldTheirShareOfTheBuffer) {
  makeRanks(2, 64 << 10);
  connectPair(1, 0);
  EXPECT_EQ(a_[0]->writer(0).slotBytes(), (64u << 10) / kFifoSlots);
  EXPECT_EQ(b_[0]->reader(0).slotBytes(), (64u << 10) / kFifoSlots);
}

TEST_P(TransportConformance, ConnectsARingAndEverythingAtOnce) {
  constexpr int kRanks = 5;
  makeRanks(kRanks);
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> heard(kRanks);
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<ConnectionRequest> requests;
      for (int peer = 0; peer < kRanks; ++peer)
        if (peer != rank) requests.push_back({peer, 1, 1});
      const auto connections = connect(rank, requests);
      for (const auto& connection : connections) put(connection->writer(0), static_cast<std::uint64_t>(rank));
      for (const auto& connection : connections) {
        const std::uint64_t value = take(connection->reader(0));
        heard[static_cast<std::size_t>(rank)] += value == static_cast<std::uint64_t>(connection->peer());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t n : heard) EXPECT_EQ(n, static_cast<std::uint64_t>(kRanks - 1));
}

TEST_P(TransportConformance, ALeaveIsNewsAndWhatWasSentStays) {
  makeRanks(2);
  connectPair(1, 1);
  EXPECT_EQ(b_[0]->news().state, PeerState::kThere);
  put(a_[0]->writer(0), 7);
  a_.clear();
  EXPECT_EQ(waitForNews(*b_[0]).state, PeerState::kClosed);
  EXPECT_EQ(take(b_[0]->reader(0)), 7u);
}

TEST_P(TransportConformance, AnAbortCarriesItsReason) {
  makeRanks(2);
  connectPair(1, 1);
  a_[0]->abort(5, "rank 5 is gone");
  a_.clear();
  const PeerNews news = waitForNews(*b_[0]);
  EXPECT_EQ(news.state, PeerState::kAborted);
  EXPECT_EQ(news.culprit, 5);
  EXPECT_EQ(news.text, "rank 5 is gone");
}

TEST_P(TransportConformance, GivesUpAtTheDeadlineAndNamesWhoIsMissing) {
  makeRanks(3);
  try {
    connect(2, {{0, 1, 1}, {1, 1, 1}}, {Deadline::after(std::chrono::milliseconds(50)), {}});
    FAIL() << "nobody called";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kRemoteError);
    EXPECT_THAT(error.what(), HasSubstr("0, 1"));
  }
}

TEST_P(TransportConformance, LooksAtTheRestOfTheWorldWhileItWaits) {
  makeRanks(2);
  const auto look = [] { throw Error(ResultCode::kRemoteError, "rank 0 died elsewhere"); };
  EXPECT_THROW(connect(1, {{0, 1, 1}}, seconds(20, look)), Error);
}

TEST_P(TransportConformance, RefusesAPeerThatWantsSomethingElse) {
  makeRanks(2);
  std::string theirs;
  std::thread other([&] {
    try {
      b_ = connect(1, {{0, 1, 1}});
    } catch (const Error& error) {
      theirs = error.what();
    }
  });
  std::string ours;
  try {
    a_ = connect(0, {{1, 2, 1}});
  } catch (const Error& error) {
    ours = error.what();
  }
  other.join();
  EXPECT_THAT(ours + theirs, HasSubstr("queues"));
}

std::size_t entriesIn(const char* folder) {
  std::error_code error;
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) n += entry.exists() ? 1 : 1;
  return n;
}

TEST_P(TransportConformance, WorksAcrossProcessesAndNoticesThatOneWasKilled) {
  const std::size_t before = entriesIn("/dev/shm");
  makeRanks(2);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      const auto connections = connect(1, {{0, 1, 1}});
      for (;;) put(connections[0]->writer(0), take(connections[0]->reader(0)) + 1);
    } catch (...) {
    }
    _exit(1);
  }
  const auto connections = connect(0, {{1, 1, 1}});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    put(connections[0]->writer(0), i);
    ASSERT_EQ(take(connections[0]->reader(0)), i + 1);
  }
  EXPECT_EQ(connections[0]->news().state, PeerState::kThere);
  kill(child, SIGKILL);
  EXPECT_EQ(waitForNews(*connections[0]).state, PeerState::kLost);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(entriesIn("/dev/shm"), before);
}

TEST_P(TransportConformance, APeerKilledWhileConnectingIsNoticed) {
  makeRanks(2);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Calls rank 1 and dies before it has said anything sensible.
    transports_[1].reset();
    try {
      const auto held = connect(0, {{1, 1, 1}}, {Deadline::after(std::chrono::milliseconds(100)), {}});
      kill(getpid(), SIGKILL);
    } catch (...) {
    }
    kill(getpid(), SIGKILL);
  }
  transports_[0].reset();
  std::string message;
  try {
    const auto connections = connect(1, {{0, 1, 1}}, seconds(20));
    // It got as far as handing over its memory; then the connection notices.
    if (waitForNews(*connections[0]).state == PeerState::kLost) message = "rank 0 is lost";
  } catch (const Error& error) {
    message = error.what();
  }
  waitpid(child, nullptr, 0);
  EXPECT_THAT(message, HasSubstr("rank 0"));
}

INSTANTIATE_TEST_SUITE_P(Shm, TransportConformance,
                         ::testing::Values(Maker{
                             "shm",
                             [](int rank, std::size_t bytes) -> std::unique_ptr<Transport> {
                               return std::make_unique<ShmTransport>(rank, bytes);
                             }}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace xylem
