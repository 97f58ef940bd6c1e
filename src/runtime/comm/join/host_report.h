#pragma once
// What the first rank of a host tells the ranks of all hosts about it: the description on which its ranks
// have agreed, and the channels that it has found there. To search them is most of the work of planning; once
// per host is enough, as every rank would find the same.
//
//   std::string bytes = toBytes(HostReport{key, description, graphs});
//   HostReport report = reportFromBytes(bytes);                         // on another rank
//   if (report.key == searchKey(settings)) ... readGraphs(report.graphs) ...

#include <cstdint>
#include <string>
#include <string_view>

namespace xylem {

class Settings;

struct HostReport {
  std::uint64_t key = 0;    // searchKey of who has searched
  std::string description;  // topology XML
  std::string graphs;       // planner/search/shared_graphs.h; empty: every rank searches for itself
};

std::string toBytes(const HostReport& report);
// Throws ncclRemoteError for what is none.
HostReport reportFromBytes(std::string_view bytes);

// Ranks with the same key would search alike. It is of all settings that are set: those of the ranks of a job
// hardly ever differ, and where they do, each rank searches for itself and all plans are compared.
std::uint64_t searchKey(const Settings& settings);

}  // namespace xylem
