#include "runtime/sockets/handshake.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <cstring>
#include <span>

#include "core/file_descriptor.h"
#include "fuzz/handshake_input.h"
#include "fuzz/replay.h"
#include "runtime/sockets/socket.h"

namespace xylem::sockets {
namespace {

using ::testing::HasSubstr;
using State = Handshake::State;

struct Pair {
  Pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    caller = FileDescriptor(ends[0]);
    answerer = FileDescriptor(ends[1]);
  }
  FileDescriptor caller, answerer;
};

Hello helloOfRank(int rank) {
  Hello hello;
  hello.purpose = Purpose::kRing;
  hello.rank = rank;
  hello.ranks = 8;
  return hello;
}

void drive(Handshake& a, Handshake& b) {
  for (int i = 0; i < 10; ++i) a.advance(), b.advance();
}

TEST(Handshake, BothSidesAreSatisfiedAndTheHelloArrives) {
  const Pair pair;
  const Secret secret = randomSecret();
  Handshake caller = Handshake::call(pair.caller.get(), secret, helloOfRank(5));
  Handshake answerer = Handshake::answer(pair.answerer.get(), secret);
  EXPECT_EQ(answerer.advance(), State::kUnderWay);
  drive(caller, answerer);
  EXPECT_EQ(caller.state(), State::kDone);
  EXPECT_EQ(answerer.state(), State::kDone);
  EXPECT_EQ(answerer.hello().rank, 5);
  EXPECT_EQ(answerer.hello().purpose, Purpose::kRing);
}

TEST(Handshake, TheCallerNoticesAWrongAnswerer) {
  const Pair pair;
  Handshake caller = Handshake::call(pair.caller.get(), randomSecret(), helloOfRank(0));
  Handshake answerer = Handshake::answer(pair.answerer.get(), randomSecret());
  drive(caller, answerer);
  EXPECT_EQ(caller.state(), State::kFailed);
  EXPECT_THAT(caller.reason(), HasSubstr("does not know the secret"));
  EXPECT_NE(answerer.state(), State::kDone);
}

// A peer between the two changes a byte of the hello.
TEST(Handshake, AChangedHelloIsNoticed) {
  const Pair left, right;
  const Secret secret = randomSecret();
  Handshake caller = Handshake::call(left.caller.get(), secret, helloOfRank(3));
  Handshake answerer = Handshake::answer(right.answerer.get(), secret);
  caller.advance();
  Hello hello;
  ASSERT_EQ(receiveSome(left.answerer.get(), std::as_writable_bytes(std::span(&hello, 1))),
            static_cast<int>(sizeof hello));
  hello.rank = 4;
  sendSome(right.caller.get(), std::as_bytes(std::span(&hello, 1)));
  answerer.advance();
  std::byte answer[64];
  ASSERT_EQ(receiveSome(right.caller.get(), answer), 64);
  sendSome(left.answerer.get(), answer);
  EXPECT_EQ(caller.advance(), State::kFailed);
}

TEST(Handshake, TheAnswerersProofSentBackIsNoProof) {
  const Pair pair;
  const Secret secret = randomSecret();
  Handshake answerer = Handshake::answer(pair.answerer.get(), secret);
  const Hello hello = helloOfRank(1);
  sendSome(pair.caller.get(), std::as_bytes(std::span(&hello, 1)));
  answerer.advance();
  std::byte answer[64];
  ASSERT_EQ(receiveSome(pair.caller.get(), answer), 64);
  sendSome(pair.caller.get(), std::span<const std::byte>(answer).subspan(32));
  EXPECT_EQ(answerer.advance(), State::kFailed);
}

TEST(Handshake, AnotherProtocolIsNoticedAtItsFirstBytes) {
  const Pair pair;
  Handshake answerer = Handshake::answer(pair.answerer.get(), randomSecret());
  const char text[] = "SSH-2.0-OpenSSH";
  sendSome(pair.caller.get(), std::as_bytes(std::span(text)));
  EXPECT_EQ(answerer.advance(), State::kFailed);
  EXPECT_THAT(answerer.reason(), HasSubstr("protocol"));
}

TEST(Handshake, AClosedConnectionFails) {
  Pair pair;
  Handshake answerer = Handshake::answer(pair.answerer.get(), randomSecret());
  pair.caller.reset();
  EXPECT_EQ(answerer.advance(), State::kFailed);
}

// Every input of the fuzzer that once broke something is in its corpus and is replayed here.
TEST(Corpus, NoHandshakeGetsAnUnauthenticatedPeerIn) {
  const Replayed replayed = replayCorpus("handshake", feedHandshake);
  EXPECT_GE(replayed.accepted, 7);
  EXPECT_GE(replayed.refused, 6);
}

}  // namespace
}  // namespace xylem::sockets
