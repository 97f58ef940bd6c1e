#pragma once
// The command line of bench_compare.

#include <cstdint>
#include <string>
#include <vector>

#include "comparison/operations.h"
#include "comparison/shape.h"

namespace xylem::bench {

struct CompareOptions {
  std::vector<Shape> shapes;
  std::vector<Operation> operations;
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> without;  // contenders
  unsigned rounds = 7;
  double targetMilliseconds = 5;
  std::string congestion;  // TCP's congestion control between hosts; empty: the machine's
  bool pipelined = false;
  bool inPlace = false;
  bool rewrites = false;
  bool quick = false;
  std::string json;  // a file; empty: none
};

// "8,4K,1M", or "8:256M": every size is `factor` times the one before, up to and including the last.
std::vector<std::uint64_t> parseSizes(const std::string& text, std::uint64_t factor);

// Ends the process for --help, and with exit status 2 for what is no option. Throws InputError.
CompareOptions parseOptions(int argc, char** argv);

}  // namespace xylem::bench
