#pragma once
// The steps of joining a communicator. JoinSteps runs each of them in the same way: it measures the time for
// NCCL's log line, and tells the other ranks if the step fails. InitTimer keeps the times.
//
//   JoinSteps steps(*bootstrap, watch, timer, *log);
//   const JobRoster roster = steps.run(InitPart::kAllGathers, "gathering the ranks' descriptions",
//                                      [&] { return gatherRoster(*bootstrap, request); });
//   timer.text()   ->   "total 0.02 (kernels 0.00, alloc 0.00, bootstrap 0.01, …, rest 0.00)"

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "core/error.h"

namespace xylem {
class Logger;
class Settings;
}  // namespace xylem
namespace xylem::bootstrap {
class Bootstrap;
}
namespace xylem::comm {

class NetworkChoice;
class PeerWatch;
struct CommConfig;
struct Membership;

// The parts of NCCL's "Init timings" line, in its order, and one of ours, which the line has if it took time: measuring how data moves.
enum class InitPart { kKernels, kAlloc, kBootstrap, kAllGathers, kTopology, kGraphs, kConnections, kCopies };
constexpr std::size_t kInitParts = 8;

class InitTimer {
 public:
  using Clock = std::chrono::steady_clock;

  InitTimer() : start_(Clock::now()), last_(start_) {}
  // Adds the time since the last lap to `part`; returns that time in seconds. `step` names what was done.
  double lap(InitPart part, const char* step);
  double seconds(InitPart part) const { return parts_[static_cast<std::size_t>(part)]; }
  // The part's name in NCCL's line.
  static const char* name(InitPart part);
  // Seconds since the start.
  double total() const;
  std::string text() const;
  // "describing the hosts took 14.20 s of 16.00 s": the step that took most of a start that took long; empty
  // if it took less than a second.
  std::string longestStep() const;

 private:
  Clock::time_point start_, last_;
  std::array<double, kInitParts> parts_{};
  double longest_ = 0;  // seconds
  const char* longestName_ = "";
};

// The input of joining; it outlives the joining.
struct JoinRequest {
  const Membership& membership;
  const CommConfig& config;
  const NetworkChoice& network;
  const Settings& settings;
  const std::shared_ptr<const Logger>& log;
};

class JoinSteps {
 public:
  JoinSteps(bootstrap::Bootstrap& bootstrap, PeerWatch& watch, InitTimer& timer, const Logger& log)
      : bootstrap_(bootstrap), watch_(watch), timer_(timer), log_(log) {}

  // Runs `step` and returns the value that it makes. If it throws an Error, run() tells the other ranks
  // before the caller unwinds, so while the connections that earlier steps made still exist. A step may run
  // inner steps.
  template <typename Step>
  auto run(InitPart part, const char* what, Step&& step) -> decltype(step()) {
    try {
      const Lap lap(*this, part, what);
      return step();
    } catch (const Error& error) {
      tellPeers(error);
      throw;
    }
  }

 private:
  // Ends the step's lap, and logs it, when the step returns.
  class Lap {
   public:
    Lap(JoinSteps& steps, InitPart part, const char* what) : steps_(steps), part_(part), what_(what) {}
    ~Lap() { steps_.end(part_, what_); }
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;

   private:
    JoinSteps& steps_;
    const InitPart part_;
    const char* const what_;
  };
  void end(InitPart part, const char* what) noexcept;
  void tellPeers(const Error& error);

  bootstrap::Bootstrap& bootstrap_;
  PeerWatch& watch_;
  InitTimer& timer_;
  const Logger& log_;
  bool told_ = false;  // the peers know of a failure: outer steps say nothing more
};

}  // namespace xylem::comm
