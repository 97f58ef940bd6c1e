// Plans a job of many hosts completely: `plan_scale FILE HOSTS REPEATS`. plan_scale.sh runs it.
//
// It computes and keeps everything in the plans of all ranks: the graphs of the host, the ring of each
// channel, each rank's place in the tree of each channel, and the choice of algorithm for each collective
// from 8 B to 8 GiB. Prints ranks, channels, the seconds (median over the repeats, without reading the file)
// and the peak of resident memory in KiB.

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/plan/planner.h"
#include "planner/tuning/choice.h"

namespace {

using namespace xylem;

struct Everything {
  std::vector<std::vector<int>> rings;                 // by channel
  std::vector<std::vector<connect::TreeLinks>> trees;  // by channel, by rank
  std::vector<tuning::Choice> choices;                 // by view, collective and size
};

Everything writeOut(const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  Everything all;
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    all.rings.push_back(connect::ringOf(c, channel));
    std::vector<connect::TreeLinks>& tree = all.trees.emplace_back();
    tree.reserve(static_cast<std::size_t>(c.job.ranks()));
    for (int rank = 0; rank < c.job.ranks(); ++rank) tree.push_back(connect::treeOf(c, rank, channel));
  }
  for (const tuning::TuningModel& model : plan.tuning)
    for (Collective collective : kAllCollectives)
      for (std::uint64_t bytes = 8; bytes <= std::uint64_t{8} << 30; bytes *= 2)
        all.choices.push_back(tuning::choose(model, {.collective = collective, .bytes = bytes}));
  return all;
}

int run(const char* file, int hosts, int repeats) {
  const plan::PlanRequest request = plan::identicalHosts(topology::readTopology(file), hosts);
  std::vector<double> seconds;
  int ranks = 0;
  std::size_t channels = 0;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const plan::Plan plan = plan::planJob(request, Settings());
    const Everything all = writeOut(plan);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    ranks = plan.job().ranks();
    channels = all.rings.size();
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} {} {:.4f} {}\n", ranks, channels, seconds[seconds.size() / 2], usage.ru_maxrss);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: plan_scale FILE HOSTS REPEATS\n");
    return 2;
  }
  try {
    return run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "plan_scale: {}\n", error.what());
    return 2;
  }
}
