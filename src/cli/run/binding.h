#pragma once
// Which of this host's CPUs each of its ranks may use under `xylem run --bind cores`: the CPUs that this
// process may use, in the order of packages and cores, in as many equal parts as there are ranks. With more
// ranks than CPUs, ranks take turns.
//
//   bindTo(shareOf(usableCpus(), localRank, localRanks));

#include <vector>

namespace xylem::cli {

std::vector<int> usableCpus();
std::vector<int> shareOf(const std::vector<int>& cpus, int part, int parts);
// The calling process. False if the system refuses.
bool bindTo(const std::vector<int>& cpus);

}  // namespace xylem::cli
