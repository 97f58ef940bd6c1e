#pragma once
// How two ends of a connection show each other that they know the secret of the job, before anything else is
// believed.
//
//   caller:   hello (who I am, what I want, a nonce)
//   answerer: a nonce, and a keyed hash over hello and both nonces
//   caller:   another keyed hash over the same
//
// A Handshake moves as far as the socket allows and never waits; whoever drives it polls for `events()`. What
// the hello says is covered by both hashes, so it is to be believed once state() is kDone.

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/unique_id.h"

namespace xylem {

// The hash over the whole transcript, 256 bits.
using Proof = std::array<std::uint8_t, 32>;

enum class Purpose : std::uint32_t { kCheckIn = 1, kRing = 2 };

struct Hello {
  char magic[8] = {'x', 'y', 'l', 'e', 'm', 'h', 'i', '1'};
  Purpose purpose = Purpose::kCheckIn;
  std::int32_t rank = -1;
  std::int32_t ranks = 0;
  std::uint32_t unused = 0;
  WireAddress address;  // kCheckIn: where the caller listens for the rank before it
  Secret nonce{};
};
static_assert(sizeof(Hello) == 80);

class Handshake {
 public:
  enum class State { kUnderWay, kDone, kFailed };

  static Handshake call(int socket, const Secret& secret, Hello hello);
  static Handshake answer(int socket, const Secret& secret);

  // Moves bytes as far as they go.
  State advance();
  State state() const { return state_; }
  // What poll(2) has to wait for while it is under way.
  short events() const;
  const Hello& hello() const { return hello_; }
  // Why it failed.
  const std::string& reason() const { return reason_; }

 private:
  enum class Phase {
    kSendHello,
    kReceiveHello,
    kSendAnswer,
    kReceiveAnswer,
    kSendProof,
    kReceiveProof,
    kEnd
  };
  Handshake(int socket, const Secret& secret, Phase phase)
      : socket_(socket), secret_(secret), phase_(phase) {}
  void begin(Phase phase, std::size_t bytes);
  void completed();
  Proof proof(char role) const;
  void fail(std::string reason);

  int socket_;
  Secret secret_;
  Phase phase_;
  State state_ = State::kUnderWay;
  Hello hello_;
  Secret answerNonce_{};
  std::vector<std::byte> buffer_;
  std::size_t moved_ = 0;
  std::string reason_;
};

}  // namespace xylem
