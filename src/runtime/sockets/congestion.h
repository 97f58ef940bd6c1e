#pragma once
// The TCP congestion control that sockets for data use.
//
//   const Congestion congestion("auto");
//   congestion.prepare(socket);   // before it connects or listens; accepted sockets inherit it
//   congestion.settle(socket);    // once it is connected and TCP has measured the round trip
//
// By default this is the system's choice, except that BBR is not used over short round trips. BBR paces what
// it sends by a timer, at the rate that it has measured. Between hosts some 10 microseconds apart, waiting
// for the timer costs more than the message: messages from 256 KiB on take two to four times as long.

#include <string>

namespace xylem::sockets {

class Congestion {
 public:
  // Keeps the system's congestion control.
  Congestion() = default;
  // `auto`: as described above; `system`: keeps the system's; otherwise the name of one of the kernel's,
  // which has to allow it.
  explicit Congestion(const std::string& choice);

  void prepare(int socket) const noexcept;
  void settle(int socket) const noexcept;

  // The congestion control over short round trips, and the system's. Empty if nothing is changed.
  const std::string& chosen() const { return chosen_; }
  const std::string& systems() const { return systems_; }

 private:
  std::string chosen_, systems_;
  bool onlyShortTrips_ = false;
};

}  // namespace xylem::sockets
