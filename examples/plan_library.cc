// The planner as a library: prints the rings, one rank's trees and the choices NCCL would make for a job.
//
//   g++ -std=c++20 plan_library.cc $(pkg-config --cflags --libs xylem-plan)
//   ./a.out dgxh100.xml 2

#include <xylem/plan.h>

#include <cstdlib>
#include <iostream>

namespace {

void print(const xylem::JobPlan& plan) {
  std::cout << plan.ranks() << " ranks on " << plan.nodes() << " nodes, " << plan.channels() << " channels\n";
  const xylem::PlannedGraph graph = plan.ringGraph();
  std::cout << graph.channels.size() << " rings per host, " << graph.bandwidthIntra << " GB/s each over "
            << graph.typeIntra << "\n";
  for (int channel = 0; channel < plan.channels(); ++channel) {
    std::cout << "ring " << channel << ":";
    for (int rank : plan.ring(channel)) std::cout << " " << rank;
    const xylem::PlannedTree tree = plan.tree(0, channel);
    std::cout << "   rank 0 in the tree: up " << tree.up << ", down";
    for (int child : tree.down) std::cout << " " << child;
    std::cout << "\n";
  }
  for (std::uint64_t bytes : {8ull, 1ull << 20, 1ull << 30}) {
    const xylem::PlannedChoice choice = plan.choice("AllReduce", bytes);
    std::cout << "AllReduce of " << bytes << " bytes: " << choice.algorithm << "/" << choice.protocol << ", "
              << choice.microseconds << " us\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " TOPOLOGY.xml [HOSTS]\n";
    return 2;
  }
  try {
    print(xylem::JobPlan::ofFile(argv[1], {.hosts = argc > 2 ? std::atoi(argv[2]) : 1}));
  } catch (const xylem::PlanError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
