#pragma once
// The program of one pattern on one host: its limits, channels and packing together.
//
//   HostProgram program(space, reachable, {Pattern::kRing, 2, false});
//   const Packing::Outcome outcome = program.packing.solve(program.fullRoom());

#include "insight/optimum/packing.h"

namespace xylem {

struct HostProgram {
  HostProgram(const SearchSpace& space, const Reachable& reachable, const ChannelRules& rules)
      : capacities(space, reachable, rules.pattern != Pattern::kRing),
        pricing(capacities, rules),
        packing(pricing) {}
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  // By row, in units of channels of 1 GB/s.
  std::vector<double> fullRoom() const {
    std::vector<double> room;
    for (int row = 0; row < capacities.rows(); ++row) room.push_back(capacities.capacity(row) * kWholeUnits);
    return room;
  }

  Capacities capacities;
  Pricing pricing;
  Packing packing;
};

}  // namespace xylem
