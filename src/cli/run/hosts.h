#pragma once
// Which rank of `xylem run` goes where: host after host, as many on each as it was given.
//
//   const auto places = placeRanks(parseRunHosts("a:2,b"), 5);   // a: 0 and 1, b: 2, 3 and 4

#include <string>
#include <vector>

namespace xylem::cli {

struct RunHost {
  std::string name;
  int ranks = 0;  // 0: its share of those that no number claims
};

// "a:2,b,[::1]:4". Throws InputError.
std::vector<RunHost> parseRunHosts(const std::string& text);

struct RankPlace {
  std::string host;
  int hostIndex = 0;
  int localRank = 0;
  int localRanks = 1;
};

// By rank. `ranks` 0: as many as the hosts have numbers for. Throws InputError if there is no room for all.
std::vector<RankPlace> placeRanks(const std::vector<RunHost>& hosts, int ranks);

}  // namespace xylem::cli
