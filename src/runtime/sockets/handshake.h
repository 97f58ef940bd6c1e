#pragma once
// The handshake by which both ends of a connection prove to each other that they know the secret of the job,
// before either believes anything else.
//
//   caller:   a hello (who it is, what it wants, a nonce)
//   answerer: a nonce, and a keyed hash over the hello and both nonces
//   caller:   another keyed hash over the same
//
// Both hashes cover the hello, so it can be believed once the state is kDone.
//
//   Handshake handshake = Handshake::call(socket, secret, hello);
//   while (handshake.advance() == Handshake::State::kUnderWay) ...  // poll for handshake.events()
//
// The socket may be one of streams or of whole messages.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"

namespace xylem::sockets {

enum class Purpose : std::uint32_t {
  kCheckIn = 1,  // a rank checks in at a root
  kRing = 2,     // one rank's bootstrap connects to another's
  kSession = 3,  // the session of two ranks (runtime/transport/session/peer_session.h)
  kData = 4,     // a socket that carries data; `detail`: which one of its link
};

// The caller's first message.
struct Hello {
  char magic[8] = {'x', 'y', 'l', 'e', 'm', 'h', 'i', '1'};
  Purpose purpose = Purpose::kCheckIn;
  std::int32_t rank = -1;
  std::int32_t ranks = 0;
  // kCheckIn: how many roots the job has, and which of them this connection goes to.
  std::uint16_t roots = 1;
  std::uint16_t root = 0;
  std::uint32_t detail = 0;
  WireAddress address;  // kCheckIn: where the caller listens for the rank before it
  Secret nonce{};
};
static_assert(sizeof(Hello) == 84);

// The keyed hash over the whole transcript, 256 bits.
using Proof = std::array<std::uint8_t, 32>;

// One end of the handshake without a connection: it gives the bytes to send and takes those that were
// received, in pieces of any size.
//
//   HandshakeSteps steps = HandshakeSteps::answer(secret);
//   while (steps.state() == HandshakeSteps::State::kUnderWay)
//     steps.moved(steps.sends() ? write(steps.next()) : read(steps.next()));
class HandshakeSteps {
 public:
  enum class State { kUnderWay, kDone, kFailed };

  static HandshakeSteps call(const Secret& secret, Hello hello);
  static HandshakeSteps answer(const Secret& secret);

  State state() const { return state_; }
  // True if it is this end's turn to send.
  bool sends() const;
  // The bytes to send, or the place for those to receive. Not empty while the state is kUnderWay.
  std::span<std::byte> next() { return std::span(buffer_).subspan(moved_, bytes_ - moved_); }
  // Notes that the first `bytes` of next() were sent or received.
  void moved(std::size_t bytes);
  // Notes that the other end has closed the connection.
  void closed();

  const Hello& hello() const { return hello_; }
  // True if hello() is known, though not yet proven.
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

// One end of the handshake on a non-blocking socket, which stays the caller's.
class Handshake {
 public:
  using State = HandshakeSteps::State;

  static Handshake call(int socket, const Secret& secret, const Hello& hello) {
    return {socket, HandshakeSteps::call(secret, hello)};
  }
  static Handshake answer(int socket, const Secret& secret) {
    return {socket, HandshakeSteps::answer(secret)};
  }

  // Sends and receives as much as the socket allows; never waits.
  State advance();
  State state() const { return steps_.state(); }
  // The events that poll(2) has to wait for while the handshake is under way.
  short events() const;
  const Hello& hello() const { return steps_.hello(); }
  bool hasHello() const { return steps_.hasHello(); }
  // Why it failed.
  const std::string& reason() const { return steps_.reason(); }
  // True if it failed because the other end closed the connection.
  bool closed() const { return steps_.wasClosed(); }

 private:
  Handshake(int socket, HandshakeSteps steps) : socket_(socket), steps_(std::move(steps)) {}

  int socket_;
  HandshakeSteps steps_;
};

}  // namespace xylem::sockets
