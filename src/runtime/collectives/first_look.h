#pragma once
// When a rank looks first for the descriptor of a rank that brings it data, where data goes one way. A look just before the descriptor is
// written takes its line away from the rank that writes it, and both ranks wait for it twice. So a rank that had to wait looks a moment
// later from then on. Once in kHeld times it looks at once, to see whether the others run ahead.
//
//   look.begin();
//   while (!posted()) look.waits();
//   look.arrived();

#include <cstdint>

#include "runtime/device/waiting.h"

namespace xylem::collectives {

class FirstLook {
 public:
  void begin() {
    held_ = !othersAreAhead_ && ++begun_ % kHeld != 0;
    if (!held_) return;
    for (int i = 0; i < kPauses; ++i) device::pauseProcessor();
  }
  void waits() {
    othersAreAhead_ = false;
    held_ = true;
  }
  void arrived() { othersAreAhead_ = othersAreAhead_ || !held_; }
  // Whether the next descriptor may be there already.
  bool othersAreAhead() const { return othersAreAhead_; }

 private:
  static constexpr int kPauses = 2;  // some ten nanoseconds each
  static constexpr std::uint32_t kHeld = 4;

  bool othersAreAhead_ = true;
  bool held_ = false;  // this time; or it had to wait
  std::uint32_t begun_ = 0;
};

}  // namespace xylem::collectives
