#pragma once
// Random machines as topology text, for properties that hold for all.
//
//   const Plan plan = planOf(anyMachine(), *rc::gen::inRange(1, 5));   // inside rc::check

#include <rapidcheck.h>

#include "planner_support/machine_text.h"

namespace xylem::testing {

// Returns a random machine: one to three CPUs, each with switches or none, GPUs with random NVLinks, and
// NICs.
inline std::string anyMachine() {
  const int gpus = *rc::gen::inRange(1, 7);
  const int nics = *rc::gen::inRange(0, 4);
  const int cpus = *rc::gen::inRange(1, 4);
  const int sm = *rc::gen::element(60, 70, 80, 86, 90, 100);
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
