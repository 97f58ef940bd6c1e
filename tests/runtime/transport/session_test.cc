// Tests of sessions between two ranks: how they meet, what channels keep apart, and how they end.

#include <gmock/gmock.h>

#include <thread>

#include "ranks.h"
#include "runtime/transport/session/peer_sessions.h"

namespace xylem::transport {
namespace {

const ChannelUse kUse{.purpose = kForTransfers, .kind = ChannelKind::kP2p};

// Two ranks of this process, driven by one thread, over local sockets or over TCP.
class Sessions : public ::testing::TestWithParam<bool> {
 protected:
  Sessions() { begin(); }
  // Makes both ranks anew.
  void begin() {
    const sockets::Secret secret = sockets::randomSecret();
    for (int rank = 0; rank < 2; ++rank) {
      SessionOptions options{.rank = rank, .secret = secret, .local = GetParam()};
      options.address = sockets::SocketAddress::parse("127.0.0.1:0");
      ranks_[rank] = std::make_unique<PeerSessions>(options, silentLog());
      peers_[rank] = {};
      peers_[rank].rank = rank;
      ranks_[rank]->announce(peers_[rank]);
    }
  }
  std::shared_ptr<PeerSession> session(int rank) { return ranks_[rank]->with(peers_[1 - rank]); }
  void meet() {
    await(
        [&] {
          const bool low = session(0)->advance(), high = session(1)->advance();
          return low && high;
        },
        "the session");
  }
  // Ends a rank: nothing holds its session any more.
  void leave(int rank) { ranks_[rank].reset(); }

  std::unique_ptr<PeerSessions> ranks_[2];
  Peer peers_[2];
};
INSTANTIATE_TEST_SUITE_P(Over, Sessions, ::testing::Bool(),
                         [](const auto& local) { return local.param ? "LocalSockets" : "Tcp"; });

std::vector<std::byte> body(std::string_view text) {
  return bodyOf(std::span<const char>(text.data(), text.size()));
}

PeerMessage awaitMessage(SessionChannel& channel) {
  std::optional<PeerMessage> message;
  await([&] { return (message = channel.take()).has_value(); }, "a message");
  return std::move(*message);
}

PeerState awaitEnd(PeerSession& session) {
  await([&] { return session.news().state != PeerState::kThere; }, "the end");
  return session.news().state;
}

TEST_P(Sessions, ThereIsOnePerPair) {
  meet();
  EXPECT_EQ(session(0), session(0));
  EXPECT_EQ(ranks_[0]->isLocal(peers_[1]), GetParam());
}

// A rank that has left goes on only where a channel outlives it.
TEST_P(Sessions, AChannelMayOutliveARank) {
  meet();
  const ChannelUse lasting{.purpose = kForProxies, .kind = ChannelKind::kNet};
  SessionChannel there(session(0), kUse), here(session(1), kUse);
  SessionChannel stays(session(0), lasting), served(session(1), lasting);
  for (SessionChannel* const channel : {&stays, &served}) channel->outliveRank();
  there.send(PeerMessage::kOffer, body("before"));
  session(0)->tellLeft();
  await([&] { return here.news().state != PeerState::kThere || here.hasMessage(); }, "the message before");
  EXPECT_EQ(awaitMessage(here).text(), "before");
  await([&] { return here.news().state == PeerState::kClosed; }, "the end of the channel");
  EXPECT_EQ(SessionChannel(session(1), kUse).news().state, PeerState::kClosed) << "opened later";
  EXPECT_EQ(served.news().state, PeerState::kThere);
  served.send(PeerMessage::kOffer, body("after"));
  EXPECT_EQ(awaitMessage(stays).text(), "after");
}

// The higher rank has connected long before the lower one opens the session, which takes that connection.
TEST_P(Sessions, TheLowerRankTakesTheConnectionOfTheHigherOne) {
  const Deadline later = Deadline::after(kConnectDelay + std::chrono::milliseconds(100));
  const std::shared_ptr<PeerSession> higher = session(1);
  while (!later.passed()) {
    EXPECT_FALSE(higher->advance());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  meet();
  SessionChannel low(session(0), kUse), high(session(1), kUse);
  high.send(PeerMessage::kOffer, body("here"));
  EXPECT_EQ(awaitMessage(low).text(), "here");
}

TEST_P(Sessions, AMessageWaitsForItsChannel) {
  meet();
  SessionChannel low(session(0), kUse);
  low.send(PeerMessage::kOffer, body("early"));
  EXPECT_EQ(session(1)->news().state, PeerState::kThere);
  SessionChannel other(session(1), {.purpose = kForTransfers, .kind = ChannelKind::kShm});
  SessionChannel high(session(1), kUse);
  EXPECT_EQ(awaitMessage(high).text(), "early");
  EXPECT_FALSE(other.take());
}

// A channel that is closed and opened again is another one.
TEST_P(Sessions, EachTimeAChannelIsOpenedItHasItsOwnMessages) {
  meet();
  for (const char* text : {"first", "second"}) {
    SessionChannel low(session(0), kUse);
    low.send(PeerMessage::kOffer, body(text));
    low.close(body("that was it"));
  }
  for (const char* text : {"first", "second"}) {
    SessionChannel high(session(1), kUse);
    EXPECT_EQ(awaitMessage(high).text(), text);
    await([&] { return high.news().state == PeerState::kClosed; }, "the farewell");
    EXPECT_EQ(high.farewell(), body("that was it"));
  }
  EXPECT_EQ(session(1)->news().state, PeerState::kThere);
}

TEST_P(Sessions, AChannelThatIsCancelledFailsAtThePeer) {
  meet();
  { SessionChannel low(session(0), kUse); }
  SessionChannel high(session(1), kUse);
  std::string text;
  try {
    await([&] { return high.take().has_value(); }, "the end");
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_EQ(text, "rank 0 is gone (it gave up the connection): it left before it was connected");
  EXPECT_EQ(session(1)->news().state, PeerState::kThere);
}

TEST_P(Sessions, ARankThatLeavesSaysSoAfterEverythingElse) {
  meet();
  {
    SessionChannel low(session(0), kUse);
    low.send(PeerMessage::kOffer, body("last"));
    low.close({});
  }
  leave(0);
  SessionChannel high(session(1), kUse);
  EXPECT_EQ(awaitEnd(*session(1)), PeerState::kClosed);
  EXPECT_EQ(awaitMessage(high).text(), "last");
}

// Bytes that a rank has not read when it leaves take nothing back of what it has said.
TEST_P(Sessions, AFarewellArrivesAlthoughTheRankHasNotReadEverything) {
  meet();
  SessionChannel high(session(1), kUse);
  high.send(PeerMessage::kOffer, std::vector<std::byte>(100000));
  leave(0);
  EXPECT_EQ(awaitEnd(*session(1)), PeerState::kClosed);
}

TEST_P(Sessions, AnAbortIsSaidOnceAndFinal) {
  meet();
  session(0)->tellAbort(5, "rank 5 is gone");
  session(0)->tellAbort(6, "rank 6 is gone");
  EXPECT_EQ(awaitEnd(*session(1)), PeerState::kAborted);
  leave(0);
  const PeerNews news = session(1)->news();
  EXPECT_EQ(news.state, PeerState::kAborted);
  EXPECT_EQ(news.failedRank, 5);
  EXPECT_EQ(news.text, "rank 5 is gone");
}

// A rank that gives up while it meets its peer is heard of once they have met.
TEST_P(Sessions, AnAbortIsRememberedUntilTheSessionOpens) {
  for (const int gives : {0, 1}) {
    begin();
    const std::shared_ptr<PeerSession> one = session(gives);
    one->tellAbort(gives, "the program gave up");
    const std::shared_ptr<PeerSession> other = session(1 - gives);
    await(
        [&] {
          one->advance();
          return other->advance() && other->news().state == PeerState::kAborted;
        },
        "the abort");
    EXPECT_EQ(other->news().text, "the program gave up");
  }
}

TEST_P(Sessions, APeerAnswersWhenItReads) {
  meet();
  EXPECT_TRUE(session(0)->ask());
  EXPECT_TRUE(session(0)->asked());
  EXPECT_EQ(session(0)->news().state, PeerState::kThere);
  EXPECT_FALSE(session(0)->answered());
  await(
      [&] {
        session(1)->news();
        session(0)->news();
        return session(0)->answered();
      },
      "the answer");
}

TEST(PeerMessage, SurvivesTheJourney) {
  const PeerMessage message = parseMessage(serialize(abortMessage(3, "why")));
  EXPECT_EQ(message.kind, PeerMessage::kAbort);
  EXPECT_EQ(message.rank, 3);
  EXPECT_EQ(message.text(), "why");
  EXPECT_EQ(parseMessage(serialize(abortMessage(3, std::string(9000, 'x')))).body.size(), kMaxAbortBytes);
}

TEST(PeerMessage, IsRefusedIfItIsNone) {
  const std::vector<std::byte> bytes = serialize({.kind = PeerMessage::kBye});
  EXPECT_THROW(parseMessage(std::span(bytes).first(bytes.size() - 1)), Error);
  std::vector<std::byte> other = bytes;
  other[0] = std::byte{99};
  EXPECT_THROW(parseMessage(other), Error);
}

}  // namespace
}  // namespace xylem::transport
