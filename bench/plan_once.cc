// Plans one machine R times: `plan_once FILE HOSTS R`. plan_cost.sh counts its instructions.
//
// It reads the file once, before. Each plan builds the graph, finds paths, trims, finds paths again, searches
// rings and trees and joins the hosts, like one rank of a job. Prints the steps of the searches, the seconds
// of one plan (median over R), and the peak of resident memory in KiB. XYLEM_NCCL names the version of NCCL.

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "planner/plan/planner.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: plan_once FILE HOSTS REPEATS\n");
    return 2;
  }
  try {
    const xylem::plan::PlanRequest request =
        xylem::plan::identicalHosts(xylem::topology::readTopology(argv[1]), std::atoi(argv[2]));
    const xylem::Settings settings = xylem::Settings::fromEnvironment();
    std::vector<double> seconds;
    std::int64_t steps = 0;
    for (int i = 0; i < std::atoi(argv[3]); ++i) {
      const auto start = std::chrono::steady_clock::now();
      const xylem::plan::Plan plan = xylem::plan::planJob(request, settings);
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      steps = plan.hostOf(0).ring().searchSteps + plan.hostOf(0).tree().searchSteps;
    }
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("{} {:.6f} {}\n", steps, seconds[seconds.size() / 2], usage.ru_maxrss);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plan_once: {}\n", error.what());
    return 2;
  }
  return 0;
}
