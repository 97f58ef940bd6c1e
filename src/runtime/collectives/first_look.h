#pragma once
// When a rank looks first for the descriptor of a rank that brings it data. A look just before the descriptor is written takes its line
// away from the rank that writes it, and both ranks wait for it twice. So a rank that had to wait looks a moment later from then on. With
// little data it learns how much later: a little more each time that it still came too early, and now and then a little less. One look in
// kAtOnce is not held back, to see whether the others run ahead.
//
//   FirstLook look(FirstLook::kOneWay);
//   look.begin(bytes);
//   while (!posted()) look.waits();
//   look.arrived();

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/device/waiting.h"

namespace xylem::collectives {

class FirstLook {
 public:
  // The least number of pauses before a held look. Where data goes one way, the rank that brings it is late by the way of a line at least;
  // ranks that all bring some may come at the same instant.
  static constexpr int kOneWay = 2, kBothWays = 0;
  explicit FirstLook(int least) : least_(least), pauses_(least) {}

  // `bytes`: of the data.
  void begin(std::size_t bytes) {
    held_ = !othersAreAhead_ && ++begun_ % kAtOnce != 0;
    learns_ = bytes <= kLittle;
    waits_ = 0;
    if (!held_) return;
    for (int i = 0; i < (learns_ ? pauses_ : least_); ++i) device::pauseProcessor();
  }
  void waits() {
    othersAreAhead_ = false;
    if (waits_ <= kSoon) ++waits_;
  }
  void arrived() {
    const bool atOnce = waits_ == 0;
    if (!held_) {
      othersAreAhead_ = othersAreAhead_ || atOnce;
    } else if (!learns_) {
      return;
    } else if (atOnce) {
      if (++hits_ % kHits == 0) pauses_ = std::max(pauses_ - 1, least_);
    } else if (waits_ <= kSoon) {
      pauses_ = std::min(pauses_ + 1, kMostPauses);
    }
  }
  // Whether the next descriptor may be there already.
  bool othersAreAhead() const { return othersAreAhead_; }
  // For how many pauses of the processor the next look at little data is held back.
  int pauses() const { return pauses_; }

 private:
  // A pause takes some ten nanoseconds.
  static constexpr int kMostPauses = 16;
  // After this many held looks that found the descriptor, the next one is held back less.
  static constexpr std::uint32_t kHits = 8;
  // Looks after the first one, if the descriptor came soon after it.
  static constexpr int kSoon = 16;
  static constexpr std::uint32_t kAtOnce = 4;
  // The rank that brings more copies for longer than a line takes to come.
  static constexpr std::size_t kLittle = 4096;

  const int least_;
  int pauses_;
  bool othersAreAhead_ = true;
  bool held_ = false;  // this time
  bool learns_ = false;
  int waits_ = 0;  // this time: how often it has looked in vain
  std::uint32_t begun_ = 0, hits_ = 0;
};

}  // namespace xylem::collectives
