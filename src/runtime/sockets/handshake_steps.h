#pragma once
// How two ends of a connection show each other that they know the secret of the job, before anything else is
// believed.
//
//   caller:   hello (who I am, what I want, a nonce)
//   answerer: a nonce, and a keyed hash over hello and both nonces
//   caller:   another keyed hash over the same
//
// This is one end without the connection: it says which bytes go out, and takes those that come, in pieces of
// any size. runtime/sockets/handshake.h puts it on a socket.
//
//   HandshakeSteps steps = HandshakeSteps::answer(secret);
//   while (steps.state() == HandshakeSteps::State::kUnderWay)
//     steps.moved(steps.sends() ? write(steps.next()) : read(steps.next()));

#include <cstddef>
#include <span>
#include <string>

#include "runtime/sockets/hello.h"

namespace xylem {

// The hash over the whole transcript, 256 bits.
using Proof = std::array<std::uint8_t, 32>;

class HandshakeSteps {
 public:
  enum class State { kUnderWay, kDone, kFailed };

  static HandshakeSteps call(const Secret& secret, Hello hello);
  static HandshakeSteps answer(const Secret& secret);

  State state() const { return state_; }
  // Whether it is this end's turn to send.
  bool sends() const;
  // What is to be sent, or where to put what comes; not empty while it is under way.
  std::span<std::byte> next() { return std::span(buffer_).subspan(moved_, bytes_ - moved_); }
  // So many of these bytes have gone, or come.
  void moved(std::size_t bytes);
  // The other end has closed the connection.
  void closed();

  const Hello& hello() const { return hello_; }
  // Whether the other end has said anything, and, of a caller, who he is.
  bool hasSpoken() const { return spoken_; }
  bool hasHello() const { return phase_ != Phase::kReceiveHello; }
  // Why it failed.
  const std::string& reason() const { return reason_; }
  bool wasClosed() const { return closed_; }

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
  explicit HandshakeSteps(const Secret& secret) : secret_(secret) {}
  void begin(Phase phase, std::size_t bytes);
  void completed();
  Proof proof(char role) const;
  void check(char role, const Proof& given);
  void fail(std::string reason);

  Secret secret_;
  Phase phase_ = Phase::kEnd;
  State state_ = State::kUnderWay;
  Hello hello_;
  Secret answerNonce_{};
  std::array<std::byte, sizeof(Hello)> buffer_{};  // the longest message
  std::size_t bytes_ = 0;
  std::size_t moved_ = 0;
  std::string reason_;
  bool spoken_ = false;
  bool closed_ = false;
};

}  // namespace xylem
