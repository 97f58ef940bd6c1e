// Plans a job with the planner alone: no GPU, no runtime.
//
//   c++ -std=c++20 plan_library.cc $(pkg-config --cflags --libs xylem-plan) -o plan_library
//   ./plan_library dgxh100.xml 2

#include <cstdlib>
#include <iostream>

#include "xylem/plan.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: plan_library FILE [HOSTS]\n";
    return 2;
  }
  try {
    const xylem::JobPlan plan = xylem::JobPlan::ofFile(argv[1], {.hosts = argc > 2 ? std::atoi(argv[2]) : 1});
    const xylem::PlannedGraph graph = plan.ringGraph();
    std::cout << plan.ranks() << " ranks on " << plan.nodes() << " nodes, " << plan.channels() << " channels at "
              << graph.bandwidthIntra << "/" << graph.bandwidthInter << " GB/s, " << graph.typeIntra << "/"
              << graph.typeInter << "\n";
    for (int c = 0; c < plan.channels(); ++c) {
      std::cout << "ring " << c << ":";
      for (int rank : plan.ring(c)) std::cout << " " << rank;
      std::cout << "\n";
    }
  } catch (const xylem::PlanError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
