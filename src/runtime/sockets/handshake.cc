#include "runtime/sockets/handshake.h"

#include <poll.h>
#include <sodium.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "runtime/sockets/socket.h"

namespace xylem::sockets {
namespace {

struct Answer {
  Secret nonce;
  Proof proof;
};
static_assert(sizeof(Answer) <= sizeof(Hello));

// The roles hash different bytes, so that neither can send the other's proof back.
constexpr char kCallerRole = 'c';
constexpr char kAnswererRole = 'a';

}  // namespace

HandshakeSteps HandshakeSteps::call(const Secret& secret, Hello hello) {
  HandshakeSteps steps(secret);
  fillRandom(hello.nonce.data(), hello.nonce.size());
  steps.hello_ = hello;
  steps.begin(Phase::kSendHello, sizeof hello);
  std::memcpy(steps.buffer_.data(), &hello, sizeof hello);
  return steps;
}

HandshakeSteps HandshakeSteps::answer(const Secret& secret) {
  HandshakeSteps steps(secret);
  fillRandom(steps.answerNonce_.data(), steps.answerNonce_.size());
  steps.begin(Phase::kReceiveHello, sizeof(Hello));
  return steps;
}

void HandshakeSteps::begin(Phase phase, std::size_t bytes) {
  phase_ = phase;
  bytes_ = bytes;
  moved_ = 0;
}

bool HandshakeSteps::sends() const {
  return phase_ == Phase::kSendHello || phase_ == Phase::kSendAnswer || phase_ == Phase::kSendProof;
}

Proof HandshakeSteps::proof(char role) const {
  Proof result;
  crypto_generichash_state state;
  crypto_generichash_init(&state, secret_.data(), secret_.size(), result.size());
  const auto add = [&](const void* data, std::size_t bytes) {
    crypto_generichash_update(&state, static_cast<const unsigned char*>(data), bytes);
  };
  add(&role, sizeof role);
  add(&hello_, sizeof hello_);
  add(answerNonce_.data(), answerNonce_.size());
  crypto_generichash_final(&state, result.data(), result.size());
  return result;
}

void HandshakeSteps::check(char role, const Proof& given) {
  const Proof expected = proof(role);
  if (sodium_memcmp(expected.data(), given.data(), expected.size()) != 0)
    fail("it does not know the secret of this job");
}

void HandshakeSteps::fail(std::string reason) {
  state_ = State::kFailed;
  reason_ = std::move(reason);
}

void HandshakeSteps::closed() {
  closed_ = true;
  fail(spoken_ ? "the connection was closed before both sides had shown that they belong to this job"
               : "the connection was closed without a word");
}

void HandshakeSteps::moved(std::size_t bytes) {
  assert(state_ == State::kUnderWay && bytes <= bytes_ - moved_);
  moved_ += bytes;
  spoken_ = spoken_ || (!sends() && bytes > 0);
  // A peer that speaks another protocol fails with its first bytes, however few more it sends.
  const Hello ours;
  if (phase_ == Phase::kReceiveHello && moved_ >= sizeof ours.magic &&
      std::memcmp(buffer_.data(), ours.magic, sizeof ours.magic) != 0)
    return fail("it does not speak Xylem's protocol");
  if (moved_ == bytes_) completed();
}

void HandshakeSteps::completed() {
  Answer answer;
  Proof given;
  switch (phase_) {
    case Phase::kSendHello:
      begin(Phase::kReceiveAnswer, sizeof answer);
      break;
    case Phase::kReceiveHello:
      std::memcpy(&hello_, buffer_.data(), sizeof hello_);
      answer = {answerNonce_, proof(kAnswererRole)};
      begin(Phase::kSendAnswer, sizeof answer);
      std::memcpy(buffer_.data(), &answer, sizeof answer);
      break;
    case Phase::kSendAnswer:
      begin(Phase::kReceiveProof, sizeof given);
      break;
    case Phase::kReceiveAnswer:
      std::memcpy(&answer, buffer_.data(), sizeof answer);
      answerNonce_ = answer.nonce;
      check(kAnswererRole, answer.proof);
      if (state_ == State::kFailed) break;
      given = proof(kCallerRole);
      begin(Phase::kSendProof, sizeof given);
      std::memcpy(buffer_.data(), &given, sizeof given);
      break;
    case Phase::kReceiveProof:
      std::memcpy(&given, buffer_.data(), sizeof given);
      check(kCallerRole, given);
      [[fallthrough]];
    case Phase::kSendProof:
      begin(Phase::kEnd, 0);
      if (state_ == State::kUnderWay) state_ = State::kDone;
      break;
    case Phase::kEnd:
      break;
  }
}

short Handshake::events() const { return steps_.sends() ? POLLOUT : POLLIN; }

Handshake::State Handshake::advance() {
  while (steps_.state() == State::kUnderWay) {
    const std::span<std::byte> next = steps_.next();
    const int moved = steps_.sends() ? sendSome(socket_, next) : receiveSome(socket_, next);
    if (moved == 0) break;
    if (moved < 0)
      steps_.closed();
    else
      steps_.moved(static_cast<std::size_t>(moved));
  }
  return steps_.state();
}

}  // namespace xylem::sockets
