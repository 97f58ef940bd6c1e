#pragma once
// A tuning for people: per collective and size what is chosen, the predicted time and bus bandwidth, how
// close the runner-up is, and why others are no candidates.
//
//   writeOut(tuneText(model, {8, 1 << 20}, {"dgxh100.xml", 2, {}}, terminalOf(stdout)));

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "planner/tuning/model.h"

namespace xylem::cli {

// What the tuning is of.
struct TuneSubject {
  std::string machine;
  int hosts = 1;
  std::vector<std::pair<std::string, std::string>> settings;  // those that are set
};

std::string tuneText(const TuningModel& model, std::span<const std::uint64_t> sizes,
                     const TuneSubject& subject, const Terminal& screen);

}  // namespace xylem::cli
