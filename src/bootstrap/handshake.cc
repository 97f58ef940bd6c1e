#include "bootstrap/handshake.h"

#include <poll.h>
#include <sodium.h>

#include <cstring>
#include <span>

#include "bootstrap/socket.h"

namespace xylem {
namespace {

struct Answer {
  Secret nonce;
  Proof proof;
};

template <typename T>
void put(std::vector<std::byte>& buffer, const T& value) {
  std::memcpy(buffer.data(), &value, sizeof value);
}
template <typename T>
void get(const std::vector<std::byte>& buffer, T& value) {
  std::memcpy(&value, buffer.data(), sizeof value);
}

// The roles hash different bytes, so that neither can send the other's proof back.
constexpr char kCaller = 'c';
constexpr char kAnswerer = 'a';

}  // namespace

Handshake Handshake::call(int socket, const Secret& secret, Hello hello) {
  Handshake handshake(socket, secret, Phase::kSendHello);
  fillRandom(hello.nonce.data(), hello.nonce.size());
  handshake.hello_ = hello;
  handshake.begin(Phase::kSendHello, sizeof(Hello));
  put(handshake.buffer_, hello);
  return handshake;
}

Handshake Handshake::answer(int socket, const Secret& secret) {
  Handshake handshake(socket, secret, Phase::kReceiveHello);
  fillRandom(handshake.answerNonce_.data(), handshake.answerNonce_.size());
  handshake.begin(Phase::kReceiveHello, sizeof(Hello));
  return handshake;
}

void Handshake::begin(Phase phase, std::size_t bytes) {
  phase_ = phase;
  buffer_.assign(bytes, std::byte{0});
  moved_ = 0;
}

short Handshake::events() const {
  const bool sends =
      phase_ == Phase::kSendHello || phase_ == Phase::kSendAnswer || phase_ == Phase::kSendProof;
  return sends ? POLLOUT : POLLIN;
}

Proof Handshake::proof(char role) const {
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

void Handshake::fail(std::string reason) {
  state_ = State::kFailed;
  reason_ = std::move(reason);
}

Handshake::State Handshake::advance() {
  while (state_ == State::kUnderWay) {
    const std::span<std::byte> rest(buffer_.data() + moved_, buffer_.size() - moved_);
    const int moved = events() == POLLOUT ? sendSome(socket_, rest) : receiveSome(socket_, rest);
    if (moved == 0) break;
    if (moved < 0) {
      fail("the connection was closed before both sides had shown that they belong to this job");
      break;
    }
    moved_ += static_cast<std::size_t>(moved);
    // Whoever does not speak our language is not listened to any longer than necessary.
    if (phase_ == Phase::kReceiveHello && moved_ >= sizeof hello_.magic &&
        std::memcmp(buffer_.data(), Hello().magic, sizeof hello_.magic) != 0) {
      fail("it does not speak Xylem's bootstrap protocol");
      break;
    }
    if (moved_ == buffer_.size()) completed();
  }
  return state_;
}

void Handshake::completed() {
  switch (phase_) {
    case Phase::kSendHello:
      begin(Phase::kReceiveAnswer, sizeof(Answer));
      break;
    case Phase::kReceiveHello:
      get(buffer_, hello_);
      begin(Phase::kSendAnswer, sizeof(Answer));
      put(buffer_, Answer{answerNonce_, proof(kAnswerer)});
      break;
    case Phase::kSendAnswer:
      begin(Phase::kReceiveProof, sizeof(Proof));
      break;
    case Phase::kReceiveAnswer: {
      Answer answer;
      get(buffer_, answer);
      answerNonce_ = answer.nonce;
      const Proof expected = proof(kAnswerer);
      if (sodium_memcmp(expected.data(), answer.proof.data(), expected.size()) != 0) {
        fail("it does not know the secret of this job");
        break;
      }
      begin(Phase::kSendProof, sizeof(Proof));
      put(buffer_, proof(kCaller));
      break;
    }
    case Phase::kSendProof:
      phase_ = Phase::kEnd;
      state_ = State::kDone;
      break;
    case Phase::kReceiveProof: {
      Proof given;
      get(buffer_, given);
      const Proof expected = proof(kCaller);
      if (sodium_memcmp(expected.data(), given.data(), expected.size()) != 0) {
        fail("it does not know the secret of this job");
        break;
      }
      phase_ = Phase::kEnd;
      state_ = State::kDone;
      break;
    }
    case Phase::kEnd:
      break;
  }
}

}  // namespace xylem
