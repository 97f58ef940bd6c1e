#pragma once
// The handshake (runtime/sockets/handshake_steps.h) on a socket, of streams or of whole messages.
//
//   Handshake handshake = Handshake::call(socket, secret, hello);
//   while (handshake.advance() == Handshake::State::kUnderWay) poll for handshake.events();
//
// It moves as far as the socket allows and never waits. What the hello says is covered by both hashes, so it
// is to be believed once state() is kDone.

#include "runtime/sockets/handshake_steps.h"

namespace xylem {

class Handshake {
 public:
  using State = HandshakeSteps::State;

  static Handshake call(int socket, const Secret& secret, const Hello& hello) {
    return {socket, HandshakeSteps::call(secret, hello)};
  }
  static Handshake answer(int socket, const Secret& secret) {
    return {socket, HandshakeSteps::answer(secret)};
  }

  // Moves bytes as far as they go.
  State advance();
  State state() const { return steps_.state(); }
  // What poll(2) has to wait for while it is under way.
  short events() const;
  const Hello& hello() const { return steps_.hello(); }
  // Whether the other end has said anything, and, of a caller, who he is.
  bool hasSpoken() const { return steps_.hasSpoken(); }
  bool hasHello() const { return steps_.hasHello(); }
  // Why it failed.
  const std::string& reason() const { return steps_.reason(); }
  // Whether it failed because the other end closed the connection.
  bool closed() const { return steps_.wasClosed(); }

 private:
  Handshake(int socket, HandshakeSteps steps) : socket_(socket), steps_(std::move(steps)) {}

  int socket_;
  HandshakeSteps steps_;
};

}  // namespace xylem
