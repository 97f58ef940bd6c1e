#pragma once
// How much the tests try. XYLEM_TEST_EFFORT sets it: `quick` while a change is being made, `normal` before it
// lands, `night` now and then, by hand (docs/verification.md).
//
//   const int machines = byEffort({.quick = 10, .normal = 60, .night = 2000});

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace xylem::testing {

enum class Effort { kQuick, kNormal, kNight };

inline Effort effort() {
  const char* variable = std::getenv("XYLEM_TEST_EFFORT");
  const std::string word = variable == nullptr ? "normal" : variable;
  if (word == "quick") return Effort::kQuick;
  if (word == "normal") return Effort::kNormal;
  if (word == "night") return Effort::kNight;
  throw std::invalid_argument("XYLEM_TEST_EFFORT=" + word + ": it is quick, normal or night");
}

struct Amounts {
  int quick;
  int normal;
  int night;
};

inline int byEffort(const Amounts& amounts) {
  switch (effort()) {
    case Effort::kQuick:
      return amounts.quick;
    case Effort::kNight:
      return amounts.night;
    case Effort::kNormal:
      break;
  }
  return amounts.normal;
}

}  // namespace xylem::testing
