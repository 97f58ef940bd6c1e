// Tests of all transports: data in all sizes and protocols, connecting, and messages of any length, between
// ranks in one process and in several. ranks.h says how to add a transport.

#include "conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "core/shareable_memory.h"

namespace xylem::transport {
namespace {

using std::chrono::milliseconds;

// Steps of random sizes through one direction of a queue. Both sides draw the same sizes from the seed, and
// the reader checks the payload.
class Traffic {
 public:
  Traffic(std::uint64_t seed, int steps, const std::vector<Protocol>& protocols)
      : seed_(seed), random_(static_cast<unsigned>(seed)), left_(steps), protocols_(protocols) {}
  bool done() const { return left_ == 0; }

  void send(SendEnd& end) {
    for (; !done(); drawn_ = false) {
      if (draw([&](Protocol p) { return end.stepBytes(p); })) data_ = pattern(bytes_, seed_ + step_);
      if (inPlace_) {
        std::byte* slot = end.reserve(protocol_);
        if (slot == nullptr) return;
        check(end.reserve(protocol_) == slot, "the same slot");
        std::memcpy(slot, data_.data(), bytes_);
        end.commit(protocol_, bytes_);
      } else if (!end.send(protocol_, data_.data(), bytes_)) {
        return;
      }
      --left_;
    }
  }
  void receive(RecvEnd& end) {
    for (; !done(); drawn_ = false) {
      draw([&](Protocol p) { return end.stepBytes(p); });
      data_.resize(bytes_);
      if (inPlace_) {
        const std::byte* there = end.peek(protocol_, bytes_);
        if (there == nullptr) return;
        std::memcpy(data_.data(), there, bytes_);
        end.release(protocol_);
      } else if (!end.take(protocol_, data_.data(), bytes_)) {
        return;
      }
      check(same(data_, pattern(bytes_, seed_ + step_)), fmt::format("payload of step {}", step_));
      --left_;
    }
  }

 private:
  // Draws the next step, unless the last one still has to be sent or received. Returns whether it drew one.
  template <typename StepBytesOf>
  bool draw(StepBytesOf stepBytes) {
    if (drawn_) return false;
    drawn_ = true;
    ++step_;
    protocol_ = protocols_[random_() % protocols_.size()];
    const std::size_t most = stepBytes(protocol_);
    bytes_ =
        random_() % 4 == 0 ? most : 1 + random_() % std::min<std::size_t>(most, random_() % 2 ? most : 100);
    inPlace_ = random_() % 2 == 0;
    return true;
  }

  std::uint64_t seed_;
  std::mt19937 random_;
  int left_;
  std::vector<Protocol> protocols_;
  bool drawn_ = false;
  std::uint64_t step_ = 0;
  Protocol protocol_ = Protocol::kSimple;
  std::size_t bytes_ = 0;
  bool inPlace_ = false;
  std::vector<std::byte> data_;
};

// Rank 0 sends on two queues and rank 1 on three, all at once.
void exchange(TestRank& rank, Connection& connection, const std::vector<Protocol>& protocols, int steps) {
  const int sends = rank.rank == 0 ? 2 : 3;
  std::vector<Traffic> out, in;
  for (int q = 0; q < sends; ++q) out.emplace_back(1000 * q + rank.rank, steps, protocols);
  for (int q = 0; q < 5 - sends; ++q) in.emplace_back(1000 * q + 1 - rank.rank, steps, protocols);
  await(
      [&] {
        bool done = true;
        for (int q = 0; q < sends; ++q) {
          out[static_cast<std::size_t>(q)].send(connection.sender(q));
          done = done && out[static_cast<std::size_t>(q)].done();
        }
        for (int q = 0; q < 5 - sends; ++q) {
          in[static_cast<std::size_t>(q)].receive(connection.receiver(q));
          done = done && in[static_cast<std::size_t>(q)].done();
        }
        return done;
      },
      "the end of the traffic");
}

void exchangeWith(const std::vector<Protocol>& protocols, const std::vector<std::size_t>& bufferSizes,
                  const Maker& maker, Hosting hosting) {
  for (const std::size_t bufferBytes : bufferSizes)
    runRanks(maker, hosting, 2,
             [&](TestRank& rank) {
               const std::vector<QueueNic> two(2), three(3);
               ConnectionRequest request{.peer = 1 - rank.rank};
               request.sends = rank.rank == 0 ? two : three;
               request.receives = rank.rank == 0 ? three : two;
               const auto connections = rank.connect({request});
               exchange(rank, *connections[0], protocols, bufferBytes > 1 << 20 ? 40 : maker.steps);
               // A rank that leaves early may take undelivered steps along, so both leave together.
               put(connections[0]->sender(0), 1);
               take(connections[0]->receiver(0));
             },
             {.bufferBytes = bufferBytes});
}

TEST_P(Conformance, CarriesSimple) {
  exchangeWith({Protocol::kSimple}, {1, 64 << 10, 4 << 20}, maker(), hosting());
}
TEST_P(Conformance, CarriesLl) { exchangeWith({Protocol::kLl}, {1, 64 << 10, 4 << 20}, maker(), hosting()); }
TEST_P(Conformance, CarriesLl128) {
  exchangeWith({Protocol::kLl128}, {1, 64 << 10, 4 << 20}, maker(), hosting());
}
TEST_P(Conformance, CarriesAllProtocolsInOneQueue) {
  exchangeWith({kAllProtocols.begin(), kAllProtocols.end()}, {64 << 10}, maker(), hosting());
}

TEST_P(Conformance, AFullQueueRefusesAndGoesOnWhenThereIsRoom) {
  for (const Protocol protocol : kAllProtocols)
    run(2, [&](TestRank& rank) {
      if (rank.rank == 1) {
        const auto connections = rank.connect({{.peer = 0, .sends = {0}, .receives = {0, 0}}});
        const std::uint64_t sent = take(connections[0]->receiver(1));
        for (std::uint64_t i = 0; i < sent; ++i)
          check(take(connections[0]->receiver(0), protocol) == i, "the step");
        put(connections[0]->sender(0), 1);
        check(take(connections[0]->receiver(0), protocol) == sent, "the step after");
        return;
      }
      const auto connections = rank.connect({{.peer = 1, .sends = {0, 0}, .receives = {0}}});
      SendEnd& out = connections[0]->sender(0);
      std::uint64_t sent = 0;
      Deadline quiet = Deadline::after(milliseconds(20));
      while (!quiet.passed())
        if (out.send(protocol, reinterpret_cast<const std::byte*>(&sent), sizeof sent)) {
          quiet = Deadline::after(milliseconds(20));
          check(++sent <= maker().maxAhead, "it refuses");
        }
      check(sent >= kQueueSteps, "eight free slots");
      put(connections[0]->sender(1), sent);
      take(connections[0]->receiver(0));
      put(out, sent, protocol);
    });
}

// Shares a buffer, waits until it is read, and changes it, again and again.
void shareAndCheck(TestRank& rank, std::byte* buffer, std::size_t stepsOfBuffer) {
  const auto connections =
      rank.connect({{.peer = 1 - rank.rank,
                     .sends = std::vector<QueueNic>(static_cast<std::size_t>(1 - rank.rank)),
                     .receives = std::vector<QueueNic>(static_cast<std::size_t>(rank.rank))}});
  for (std::uint64_t round = 0; round < 10; ++round)
    if (rank.rank == 0) {
      SendEnd& out = connections[0]->sender(0);
      const std::size_t step = out.stepBytes(Protocol::kSimple);
      check(out.drained(), "nothing is shared yet");
      for (std::size_t i = 0; i < stepsOfBuffer; ++i) {
        const std::vector<std::byte> data = pattern(step, 100 * round + i);
        std::memcpy(buffer + i * step, data.data(), step);
        await([&] { return out.share(Protocol::kSimple, buffer + i * step, step); }, "a free slot");
      }
      await([&] { return out.drained(); }, "the reader");
    } else {
      RecvEnd& in = connections[0]->receiver(0);
      const std::size_t step = in.stepBytes(Protocol::kSimple);
      std::vector<std::byte> data(step);
      for (std::size_t i = 0; i < stepsOfBuffer; ++i) {
        if (i % 2 == 0) {
          await([&] { return in.take(Protocol::kSimple, data.data(), step); }, "a step");
        } else {
          const std::byte* there = nullptr;
          await([&] { return (there = in.peek(Protocol::kSimple, step)) != nullptr; }, "a step");
          std::memcpy(data.data(), there, step);
          in.release(Protocol::kSimple);
        }
        check(same(data, pattern(step, 100 * round + i)), fmt::format("step {} of round {}", i, round));
      }
    }
}

TEST_P(Conformance, SharesPlainMemory) {
  run(2,
      [](TestRank& rank) {
        std::vector<std::byte> buffer(20 * stepBytesFor(256 << 10)[Protocol::kSimple] + 1);
        shareAndCheck(rank, buffer.data() + 1, 20);
      },
      {.bufferBytes = 256 << 10});
}

TEST_P(Conformance, SharesMemoryThatPeersCanMap) {
  run(2,
      [](TestRank& rank) {
        auto* buffer = static_cast<std::byte*>(
            ShareableMemory::allocate(20 * stepBytesFor(256 << 10)[Protocol::kSimple]));
        shareAndCheck(rank, buffer, 20);
        ShareableMemory::release(buffer);
      },
      {.bufferBytes = 256 << 10});
}

TEST_P(Conformance, ConnectsEverybodyWithEverybodyInAnyOrder) {
  constexpr int kRanks = 5;
  run(kRanks, [](TestRank& rank) {
    std::vector<ConnectionRequest> requests;
    for (int peer = 0; peer < kRanks; ++peer)
      for (const std::uint32_t purpose : {0u, 1u})
        if (peer != rank.rank)
          requests.push_back({.peer = peer, .purpose = purpose, .sends = {0}, .receives = {0}});
    std::shuffle(requests.begin(), requests.end(), std::mt19937(static_cast<unsigned>(rank.rank)));
    const auto connections = rank.connect(requests);
    for (std::size_t i = 0; i < requests.size(); ++i)
      put(connections[i]->sender(0), 100 * requests[i].purpose + static_cast<unsigned>(rank.rank));
    for (std::size_t i = 0; i < requests.size(); ++i)
      check(take(connections[i]->receiver(0)) ==
                100 * requests[i].purpose + static_cast<unsigned>(requests[i].peer),
            "who it is");
    // No rank leaves before all have read.
    for (std::size_t i = 0; i < requests.size(); ++i) put(connections[i]->sender(0), 1);
    for (std::size_t i = 0; i < requests.size(); ++i) take(connections[i]->receiver(0));
  });
}

TEST_P(Conformance, CallersWhoComeBeforeTheyAreAskedForAreKept) {
  for (const int late : {0, 1})
    run(2, [&](TestRank& rank) {
      const auto request = [&](std::uint32_t purpose) {
        return ConnectionRequest{.peer = 1 - rank.rank, .purpose = purpose, .sends = {0}, .receives = {0}};
      };
      std::vector<std::unique_ptr<Connection>> connections;
      if (rank.rank == late) {
        std::this_thread::sleep_for(milliseconds(100));
        connections = rank.connect({request(7)});
        connections.push_back(std::move(rank.connect({request(3)})[0]));
      } else {
        connections = rank.connect({request(3), request(7)});
        std::swap(connections[0], connections[1]);
      }
      put(connections[0]->sender(0), 7);
      put(connections[1]->sender(0), 3);
      check(take(connections[0]->receiver(0)) == 7 && take(connections[1]->receiver(0)) == 3, "the purpose");
      put(connections[0]->sender(0), 1);
      take(connections[0]->receiver(0));
    });
}

TEST_P(Conformance, ConnectingTakesNoTimeFromWhoDoesNotWait) {
  run(2, [](TestRank& rank) {
    const auto connection = rank.open({.peer = 1 - rank.rank, .sends = {0}, .receives = {0}});
    await([&] { return connection->advance(); }, "the connection");
    check(connection->advance(), "it stays connected");
    put(connection->sender(0), 5);
    check(take(connection->receiver(0)) == 5, "the step");
    put(connection->sender(0), 6);
    take(connection->receiver(0));
  });
}

TEST_P(Conformance, RefusesAPeerThatWantsSomethingElse) {
  run(2, [](TestRank& rank) {
    const std::vector<QueueNic> sends(rank.rank == 0 ? 2 : 1);
    const std::string text =
        messageOf([&] { rank.connect({{.peer = 1 - rank.rank, .sends = sends, .receives = {0}}}); });
    // The first rank that notices throws; the other may only see that the first has gone.
    check(contains(text, "queues") || contains(text, "while connecting"), text);
  });
}

TEST_P(Conformance, SaysWhyItCannotReachAnotherHost) {
  run(1, [](TestRank& rank) {
    Peer other = rank.peers[0];
    other.rank = 9;
    check(rank.transport->isViable(rank.peers[0], other).viable, "the same host");
    if (maker().crossesHosts) return;
    other.networkNamespace = 2;
    std::string reason = rank.transport->isViable(rank.peers[0], other).reason;
    check(contains(reason, "rank 9") && contains(reason, "network namespace"), reason);
    other.hostHash = 2;
    reason = rank.transport->isViable(rank.peers[0], other).reason;
    check(!rank.transport->isViable(rank.peers[0], other).viable, "another host");
    check(contains(reason, "rank 9 is on another host"), reason);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, Conformance,
                         ::testing::Combine(::testing::ValuesIn(allMakers()),
                                            ::testing::ValuesIn(hostingsTried())),
                         caseName);
INSTANTIATE_TEST_SUITE_P(Hosts, Conformance,
                         ::testing::Combine(::testing::ValuesIn(hostMakers()),
                                            ::testing::Values(Hosting::kProcesses)),
                         caseName);

class Messages : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string why = maker().prepare(); !why.empty()) GTEST_SKIP() << why;
  }
  static const Maker& maker() { return std::get<0>(GetParam()); }
  static void run(const RankBody& body) {
    runRanks(maker(), std::get<1>(GetParam()), 2, body, {.bufferBytes = 256 << 10});
  }
};

// Sends a message both ways at once, which both ends copy where they can; `out` is this rank's.
void exchangeMessages(Connection& connection, Protocol protocol, std::span<const std::byte> out,
                      std::span<std::byte> in) {
  SendEnd& to = connection.sender(0);
  RecvEnd& from = connection.receiver(0);
  std::size_t sent = 0, received = 0;
  await(
      [&] {
        if (sent < out.size())
          sent += to.sendPiece(protocol, out.data() + sent, out.size() - sent, out.size(), true);
        if (received < in.size())
          received += from.takePiece(protocol, in.data() + received, in.size() - received);
        if (sent < out.size() || !to.drained()) {
          to.help();
          return false;
        }
        return received == in.size();
      },
      "the message");
}

std::unique_ptr<Connection> connectBothWays(TestRank& rank) {
  return std::move(rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}}).front());
}

void exchangeFrom(TestRank& rank, std::byte* buffer) {
  const auto connection = connectBothWays(rank);
  std::uint64_t seed = 0;
  for (const Protocol protocol : kAllProtocols)
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1023}, std::size_t{8} << 10,
                                    std::size_t{70001}, (std::size_t{5} << 20) / 2 + 3}) {
      ++seed;
      const auto mine = pattern(bytes, 2 * seed + static_cast<unsigned>(rank.rank));
      std::copy(mine.begin(), mine.end(), buffer);
      std::vector<std::byte> in(bytes);
      exchangeMessages(*connection, protocol, {buffer, bytes}, in);
      check(same(in, pattern(bytes, 2 * seed + 1 - static_cast<unsigned>(rank.rank))),
            fmt::format("a message of {} bytes", bytes));
    }
  // No rank leaves before the other has received everything.
  exchangeMessages(*connection, Protocol::kSimple, {buffer, 1}, {buffer + 1, 1});
}

constexpr std::size_t kBufferBytes = std::size_t{3} << 20;

TEST_P(Messages, ComeFromPlainMemory) {
  run([](TestRank& rank) {
    std::vector<std::byte> buffer(kBufferBytes);
    exchangeFrom(rank, buffer.data());
  });
}

TEST_P(Messages, ComeFromMemoryThatPeersCanMap) {
  run([](TestRank& rank) {
    auto* buffer = static_cast<std::byte*>(ShareableMemory::allocate(kBufferBytes));
    exchangeFrom(rank, buffer);
    ShareableMemory::release(buffer);
  });
}

TEST_P(Messages, OfAnotherLengthThanExpectedAreAnError) {
  run([](TestRank& rank) {
    // The message is never drained: the connection must be gone before its memory is.
    std::vector<std::byte> out(20 << 10), in(12 << 10);
    const auto connection = connectBothWays(rank);
    if (rank.rank == 0) {
      await(
          [&] {
            return connection->sender(0).sendPiece(Protocol::kSimple, out.data(), out.size(), out.size()) > 0;
          },
          "a free slot");
      await([&] { return connection->receiver(0).takePiece(Protocol::kSimple, in.data(), 1) == 1; },
            "the end");
      return;
    }
    std::string text;
    try {
      await([&] { return connection->receiver(0).takePiece(Protocol::kSimple, in.data(), in.size()) > 0; },
            "the message");
    } catch (const Error& error) {
      text = error.what();
    }
    check(text.find("rank 0 sent") != std::string::npos, "error: " + text);
    await([&] { return connection->sender(0).sendPiece(Protocol::kSimple, out.data(), 1, 1) == 1; },
          "a free slot");
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, Messages,
                         ::testing::Combine(::testing::ValuesIn(allMakers()),
                                            ::testing::ValuesIn(hostingsTried())),
                         caseName);

}  // namespace
}  // namespace xylem::transport
