// Messages of any length, which every transport carries in whatever pieces suit it.

#include <gtest/gtest.h>

#include "core/shareable_memory.h"
#include "ranks.h"

namespace xylem {
namespace {

using Case = std::tuple<Maker, Hosting>;

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

// Both ways at once between two ranks; each side's data is in `out`.
void exchange(Connection& connection, Protocol protocol, std::span<const std::byte> out,
              std::span<std::byte> in) {
  SendEnd& to = connection.sender(0);
  RecvEnd& from = connection.receiver(0);
  std::size_t sent = 0, received = 0;
  await(
      [&] {
        if (sent < out.size()) sent += to.sendPiece(protocol, out.data() + sent, out.size() - sent);
        if (received < in.size())
          received += from.takePiece(protocol, in.data() + received, in.size() - received);
        return sent == out.size() && received == in.size() && to.drained();
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
      exchange(*connection, protocol, {buffer, bytes}, in);
      check(same(in, pattern(bytes, 2 * seed + 1 - static_cast<unsigned>(rank.rank))),
            fmt::format("a message of {} bytes", bytes));
    }
  // Nobody leaves before the other one has everything.
  exchange(*connection, Protocol::kSimple, {buffer, 1}, {buffer + 1, 1});
}

constexpr std::size_t kRoom = std::size_t{3} << 20;

TEST_P(Messages, ComeFromPlainMemory) {
  run([](TestRank& rank) {
    std::vector<std::byte> buffer(kRoom);
    exchangeFrom(rank, buffer.data());
  });
}

TEST_P(Messages, ComeFromMemoryThatPeersCanMap) {
  run([](TestRank& rank) {
    auto* buffer = static_cast<std::byte*>(ShareableMemory::allocate(kRoom));
    exchangeFrom(rank, buffer);
    ShareableMemory::release(buffer);
  });
}

TEST_P(Messages, OfAnotherLengthThanExpectedAreAnError) {
  run([](TestRank& rank) {
    const auto connection = connectBothWays(rank);
    std::vector<std::byte> out(20 << 10), in(12 << 10);
    if (rank.rank == 0) {
      await([&] { return connection->sender(0).sendPiece(Protocol::kSimple, out.data(), out.size()) > 0; },
            "room");
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
    await([&] { return connection->sender(0).sendPiece(Protocol::kSimple, out.data(), 1) == 1; }, "room");
  });
}

std::string caseName(const ::testing::TestParamInfo<Case>& info) {
  return std::get<0>(info.param).name +
         (std::get<1>(info.param) == Hosting::kThreads ? "Threads" : "Processes");
}
INSTANTIATE_TEST_SUITE_P(Transports, Messages,
                         ::testing::Combine(::testing::ValuesIn(allMakers()),
                                            ::testing::ValuesIn(hostingsTried())),
                         caseName);

}  // namespace
}  // namespace xylem
