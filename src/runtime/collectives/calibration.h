#pragma once
// Measures in which way data moves the fastest between two cores of this host (CopyChoices): two threads, each on one
// of the cores, send messages to each other and make exchanges as ranks do, by the same code, in all ways in turn. The shortest of a
// way's times counts, as nothing has disturbed that; and a way is only faster than another one if it is so in both halves of the turns.
//
//   const Calibration found = calibrate(*device::corePair(mine, theirs));
//   found.choices      // the defaults, except where something else was clearly faster
//   found.numbers()    // "send and receive, staged/read in us: 8 KiB 1.9/2.5, 32 KiB 3.1/4.0; ..."
//
// It goes step by step, from what counts most to what counts least, as time may run out: where another program keeps a core, a step
// takes as long as all of them do otherwise. The next one then goes on from there.

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/core_pair.h"
#include "runtime/transport/choices/copy_choices.h"

namespace xylem::collectives {

// One operation, timed in several ways.
struct TimedWays {
  std::string operation;
  std::vector<std::string> ways;
  std::uint64_t bytes = 0;
  std::vector<double> microseconds;  // by way: the shortest time
  // The same of the first half of the turns, and of the second one; empty if there was one turn.
  std::array<std::vector<double>, 2> halves{};

  // How many times as long one way takes as another one. The halves have to agree: the smaller number of both counts.
  double gain(std::size_t from, std::size_t to) const;
};

// Steps of a calibration of usual effort.
constexpr int kCalibrationSteps = 8;

struct Calibration {
  transport::CopyChoices choices;
  std::vector<TimedWays> timed;
  int steps = 0;          // that are done; what others choose is as it was before
  bool complete = false;  // false: time ran out

  std::string numbers() const;
};

struct CalibrationEffort {
  std::chrono::milliseconds time{100};  // when it runs out, the rest is not measured, whatever waits
  int repeats = 2;                      // turns of each way
  bool large = false;  // also sizes that are larger than the caches, which take most of the time
};

// As it is, the effort takes 25 to 50 milliseconds where nothing else runs. Goes on after the first `steps` steps, which have found `choices`.
// Throws Error (ncclSystemError) if a thread may not run on one of the cores.
Calibration calibrate(const device::CorePair& cores, const CalibrationEffort& effort = {}, int steps = 0,
                      const transport::CopyChoices& choices = transport::usualChoices());

// A way must be faster than the default by this factor to be chosen: times vary, choices should not.
constexpr double kClearlyFaster = 1.1;

// From the times of `timed`, by ascending bytes, with two ways each: the sizes from which on and up to which the second
// way is clearly faster; the longest such stretch, by what it gains. From zero up to zero if there is none.
struct FasterRange {
  std::uint64_t from = 0, upTo = 0;
};
FasterRange whereSecondIsFaster(std::span<const TimedWays> timed);
// The way with the least times over all of `timed`; `usual` if none is clearly faster than that.
std::size_t fastestWay(std::span<const TimedWays> timed, std::size_t usual);
// If the first of two ways is taken up to a limit and the second one beyond it: the limit with the least times over all of `timed`, which is
// the bytes of one of them; `usual` if none is clearly faster than that.
std::uint64_t bestLimit(std::span<const TimedWays> timed, std::uint64_t usual);

}  // namespace xylem::collectives
