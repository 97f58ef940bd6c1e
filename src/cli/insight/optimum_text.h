#pragma once
// What `xylem optimize` found, for people and programs.

#include <memory>
#include <string>

#include "cli/terminal.h"
#include "insight/optimum/optimum.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

struct Optimization {
  std::string subject;                  // "dgxh100.xml"
  std::shared_ptr<const Plan> plan;     // with the channels that the search found
  std::shared_ptr<const Plan> planned;  // with the best ones
  Optimum optimum;
  double seconds = 0;  // of looking for them
  std::string file;    // the text of the graph file
  std::string output;  // where it was written; empty: nowhere
};

std::string optimumText(const Optimization& result, const Terminal& screen);
// Bandwidths in GB/s, times in microseconds.
std::string optimumJson(const Optimization& result);

}  // namespace xylem::cli
