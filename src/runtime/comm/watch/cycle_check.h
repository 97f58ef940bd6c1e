#pragma once
// Checked mode: looks whether the wait of a rank is part of a cycle over several communicators, which would
// never end. It reads the flight recorders of this host's processes, so it finds cycles among ranks of one host.
//
//   CycleCheck cycles(communicator, rank);
//   cycles.check();    // while the rank waits: throws ncclInvalidUsage with who waits for whom
//   cycles.conclude(); // the rank waits no longer: throws that already if the last look has found a cycle
//   cycles.reset();    // the rank goes on

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace xylem::comm {

class CycleCheck {
 public:
  CycleCheck(std::uint64_t communicator, int rank) : communicator_(communicator), rank_(rank) {}

  // May be called often: it looks about twice a second, and less often if there are many processes. It throws
  // once a cycle has stood unchanged for some seconds. By then each of its ranks has seen it, and so reports it
  // even if another one is faster to give up.
  void check();
  // A machine may be so busy that a time-out comes before check() is sure.
  void conclude() const {
    if (!waits_.empty()) fail();
  }
  void reset() {
    if (looked_ == Clock::time_point{}) return;
    looked_ = {};
    waits_.clear();
    sure_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // A member of the cycle, and since when (ticks) it has waited.
  struct Wait {
    std::uint64_t communicator;
    int rank;
    std::uint64_t since;
    bool operator==(const Wait&) const = default;
  };
  void look(Clock::time_point now);
  [[noreturn]] void fail() const;

  const std::uint64_t communicator_;
  const int rank_;
  Clock::time_point looked_{};  // the last look, or the first check after the rank began to wait
  Clock::duration interval_{};  // until the next look
  std::vector<Wait> waits_;     // the cycle of the last look; empty: none
  Clock::time_point since_{};   // when it was first seen
  bool sure_ = false;           // it was seen twice
  std::string text_;
};

}  // namespace xylem::comm
