#pragma once
// The command line of every rank program, which only the driver writes: --socket PATH [--core N ...] and
// options of its own.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace xylem::bench {

struct RankOptions {
  std::string socket;
  std::vector<int> cores;  // of the ranks, in turn; none: the system chooses

  void addTo(CLI::App& app) {
    app.add_option("--socket", socket, "where the driver listens")->required();
    app.add_option("--cores", cores, "rank r stays on the r-th of these")->delimiter(',');
  }
  int coreOf(int rank) const {
    return cores.empty() ? -1 : cores[static_cast<std::size_t>(rank) % cores.size()];
  }
};

}  // namespace xylem::bench
