#pragma once
// Random machines as topology text, for properties that hold for all.
//
//   const Plan plan = planOf(anyMachine(), *rc::gen::inRange(1, 5));   // inside rc::check
//   const std::string text = anyMachine({.leastGpus = 2, .leastSm = 80});

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "planner_support/machine_text.h"

namespace xylem::testing {

// The machines that a property is about. To draw only those is better than to discard the others with RC_PRE: a
// property that has discarded too many fails.
struct MachineNeeds {
  int leastGpus = 1;
  int leastSm = 60;  // compute capability (major*10+minor), at most 100
};

// Returns a random machine: one to three CPUs, each with switches or none, GPUs with random NVLinks, and
// NICs.
inline std::string anyMachine(MachineNeeds needs = {}) {
  std::vector<int> capabilities{60, 70, 80, 86, 90, 100};
  std::erase_if(capabilities, [needs](int sm) { return sm < needs.leastSm; });
  const int gpus = *rc::gen::inRange(needs.leastGpus, 7);
  const int nics = *rc::gen::inRange(0, 4);
  const int cpus = *rc::gen::inRange(1, 4);
  const int sm = *rc::gen::elementOf(capabilities);
  const bool switched = *rc::gen::arbitrary<bool>();
  const int meshed = *rc::gen::inRange(0, 5);
  const auto bus = [](int device) { return fmt::format("0000:{:02x}:00.0", 0x20 + device); };
  std::vector<std::string> inside(static_cast<std::size_t>(cpus));
  for (int g = 0; g < gpus; ++g) {
    std::string links;
    if (switched) links = nvswitch(4);
    for (int p = 0; !switched && p < gpus; ++p)
      if (p != g && (g * 7 + p * 7 + g * p) % 5 < meshed) links += nvlink(bus(p), 1 + (g + p) % 3);
    inside[static_cast<std::size_t>(*rc::gen::inRange(0, cpus))] += gpu(bus(g), g, sm, links);
  }
  for (int n = 0; n < nics; ++n)
    inside[static_cast<std::size_t>(*rc::gen::inRange(0, cpus))] +=
        nic(bus(16 + n), n, *rc::gen::element(10000, 100000, 400000));
  std::string text;
  for (int c = 0; c < cpus; ++c) text += cpu(c, inside[static_cast<std::size_t>(c)]);
  return machine(text);
}

}  // namespace xylem::testing
