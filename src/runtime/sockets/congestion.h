#pragma once
// Which of TCP's congestion controls the sockets of data use.
//
//   const Congestion congestion("auto");
//   congestion.prepare(socket);          // before it connects or listens; what a listener accepts inherits
//   it congestion.settle(socket);           // once it is connected, and the length of the way is known
//
// The system's, but not BBR on a short way. BBR holds back what it sends by a timer, at the rate that it has
// measured; between hosts with a round trip of some 10 microseconds, waiting for the timer costs more than
// the message, and from 256 KiB on two to four times its time is lost.

#include <string>

namespace xylem {

class Congestion {
 public:
  // As the system has it.
  Congestion() = default;
  // `auto`: as above; `system`: the system's; else one of the kernel's by name, as long as it allows it.
  explicit Congestion(const std::string& choice);

  void prepare(int socket) const noexcept;
  void settle(int socket) const noexcept;

  // What sockets on a short way use, and the system's; empty: nothing is changed.
  const std::string& chosen() const { return chosen_; }
  const std::string& systems() const { return systems_; }

 private:
  std::string chosen_, systems_;
  bool forShortWays_ = false;
};

}  // namespace xylem
