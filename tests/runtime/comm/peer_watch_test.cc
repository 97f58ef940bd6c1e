// Tests of PeerWatch over sessions whose other ends are held by the test.

#include "runtime/comm/watch/peer_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <thread>
#include <utility>

namespace xylem::comm {
namespace {

using transport::PeerSession;
using transport::PeerState;

// Rank 0's session with a peer, and the peer's own end.
struct SessionPair {
  explicit SessionPair(int peer) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::bad_alloc();
    ours =
        std::make_shared<PeerSession>(0, peer, transport::messagesOverLocalSocket(FileDescriptor(ends[0])));
    theirs =
        std::make_shared<PeerSession>(peer, 0, transport::messagesOverLocalSocket(FileDescriptor(ends[1])));
  }
  std::shared_ptr<PeerSession> ours, theirs;
};

// A connection without queues.
class EmptyConnection : public transport::Connection {
 public:
  EmptyConnection(SessionPair& pair, std::function<void()> onRelease)
      : Connection(pair.ours->peer()), session_(pair.ours), onRelease_(std::move(onRelease)) {}
  bool advance() override { return true; }
  bool ready() const override { return true; }
  std::string via(transport::QueueUse, int) const override { return "nothing"; }
  transport::PeerNews news() override { return session_->news(); }
  PeerSession* session() const override { return session_.get(); }
  void awaitRelease(const Deadline&) noexcept override { onRelease_(); }

 private:
  const std::shared_ptr<PeerSession> session_;
  const std::function<void()> onRelease_;
};

// Before the rank that gives up waits for its first peer, the last one knows.
TEST(PeerWatch, TellsAllPeersBeforeItWaitsForAny) {
  SessionPair one(1), two(2);
  PeerWatch watch;
  int released = 0;
  const auto allKnow = [&] {
    ++released;
    for (const SessionPair* pair : {&one, &two}) {
      EXPECT_EQ(pair->theirs->news().state, PeerState::kAborted);
      EXPECT_EQ(pair->theirs->news().text, "rank 0 gives up");
    }
  };
  EmptyConnection first(one, allKnow), second(two, allKnow);
  watch.add(first);
  watch.add(second);
  watch.abort(0, "rank 0 gives up");
  EXPECT_EQ(released, 2);
}

// While one thread waits for a peer that keeps its buffers, others look after the peers.
TEST(PeerWatch, HoldsNothingUpWhileItWaits) {
  SessionPair one(1);
  PeerWatch watch;
  bool inside = false;
  EmptyConnection waits(one, [&] {
    if (std::exchange(inside, true)) return;
    std::thread([&] {
      watch.throwIfAborted();
      watch.ask();
      std::string how;
      EXPECT_FALSE(watch.gone(1, how));
      watch.abort(0, "again");
    }).join();
  });
  watch.add(waits);
  watch.abort(0, "first");
  EXPECT_TRUE(inside);
}

TEST(PeerWatch, SeveralConnectionsOfAPeerShareItsSession) {
  SessionPair one(1), two(2);
  PeerWatch watch;
  EmptyConnection a(one, [] {}), b(one, [] {}), c(two, [] {});
  for (EmptyConnection* connection : {&a, &b, &c}) watch.add(*connection);
  EXPECT_EQ(watch.answerOf(1), PeerWatch::Answer::kNotAsked);
  watch.ask();
  EXPECT_TRUE(watch.asked());
  EXPECT_EQ(watch.answerOf(1), PeerWatch::Answer::kNone);
  one.theirs->news();  // reads the question, and answers
  watch.throwIfAborted();
  EXPECT_EQ(watch.answerOf(1), PeerWatch::Answer::kGiven);
  EXPECT_EQ(watch.answerOf(2), PeerWatch::Answer::kNone);
}

TEST(PeerWatch, TellsHowAPeerWent) {
  SessionPair one(1), two(2);
  PeerWatch watch;
  EmptyConnection a(one, [] {}), b(two, [] {});
  watch.add(a);
  watch.add(b);
  std::string how;
  EXPECT_FALSE(watch.gone(1, how));
  one.theirs.reset();
  EXPECT_TRUE(watch.gone(1, how));
  EXPECT_EQ(how, "it destroyed its communicator");
  two.theirs->tellAbort(7, "rank 7 is gone");
  EXPECT_THROW(watch.throwIfAborted(), Error);
  EXPECT_FALSE(watch.gone(2, how));
}

TEST(PeerWatch, OthersHearWhoFailed) {
  EXPECT_EQ(toldToPeers(3, Error(ResultCode::kInvalidUsage, "this rank expects 8 bytes")),
            "rank 3 failed: this rank expects 8 bytes");
  EXPECT_EQ(toldToPeers(3, Error(ResultCode::kRemoteError, "rank 7 is gone")), "rank 7 is gone");
}

}  // namespace
}  // namespace xylem::comm
