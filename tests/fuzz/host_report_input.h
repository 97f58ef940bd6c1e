#pragma once
// An input of the fuzzer of host reports, from the first rank of a host to all others: a description and
// graphs, which can be written and read again, or they are refused.
//
//   feedHostReport(bytes);   // true if they are taken

#include "core/error.h"
#include "fuzz/require.h"
#include "planner/search/shared_graphs.h"
#include "runtime/comm/join/host_description.h"

namespace xylem {

inline bool feedHostReport(std::string_view bytes) {
  try {
    const comm::HostReport report = comm::reportFromBytes(bytes);
    require(comm::toBytes(report) == bytes);
    require(search::writeGraphs(search::readGraphs(report.graphs)) == report.graphs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
