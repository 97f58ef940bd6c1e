#include "cli/run/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace xylem::cli {
namespace {

constexpr int kMostRanksPerHost = 4096;

RunHost parseHost(const std::string& word) {
  // A colon within brackets belongs to an IPv6 address.
  const std::size_t bracket = word.rfind(']');
  const std::size_t colon = word.find(':', bracket == std::string::npos ? 0 : bracket);
  RunHost host{word.substr(0, colon), 0};
  bool good = !host.name.empty() && host.name.front() != '-';
  if (colon != std::string::npos) {
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + colon + 1, last, host.ranks);
    good = good && error == std::errc() && end == last && host.ranks >= 1 && host.ranks <= kMostRanksPerHost;
  }
  if (!good)
    throw InputError({"--hosts", 0}, "`" + word + "`",
                     fmt::format("a host, or host:ranks with 1 to {} ranks", kMostRanksPerHost));
  return host;
}

}  // namespace

std::vector<RunHost> parseRunHosts(const std::string& text) {
  std::vector<RunHost> hosts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    hosts.push_back(parseHost(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return hosts;
}

std::vector<RankPlace> placeRanks(const std::vector<RunHost>& hosts, int ranks) {
  int claimed = 0;
  int open = 0;
  for (const RunHost& host : hosts) {
    claimed += host.ranks;
    open += host.ranks == 0 ? 1 : 0;
  }
  if (ranks == 0 && open > 0)
    throw InputError({"-n", 0}, "nothing",
                     "the number of ranks, or one for each of the hosts: --hosts a:2,b:2");
  if (ranks == 0) ranks = claimed;
  if (open == 0 && ranks > claimed)
    throw InputError({"-n", 0}, fmt::format("{} ranks", ranks),
                     fmt::format("at most the {} that --hosts has room for", claimed));
  int rest = std::max(ranks - claimed, 0);
  std::vector<RankPlace> places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    int here = hosts[i].ranks;
    if (here == 0) {
      here = (rest + open - 1) / open;
      --open;
      rest -= here;
    }
    here = std::min(here, ranks - static_cast<int>(places.size()));
    for (int local = 0; local < here; ++local)
      places.push_back({hosts[i].name, static_cast<int>(i), local, here});
  }
  return places;
}

}  // namespace xylem::cli
