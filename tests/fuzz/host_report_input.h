#pragma once
// An input of the fuzzer of host reports, from the first rank of a host to all others: a description and
// graphs, which can be written and read again, or they are refused.
//
//   feedHostReport(bytes);   // true if they are taken

#include "planner/search/shared_graphs.h"
#include "runtime/comm/join/host_description.h"
#include "core/error.h"
#include "fuzz/require.h"

namespace xylem {

inline bool feedHostReport(std::string_view bytes) {
  try {
    const HostReport report = reportFromBytes(bytes);
    require(toBytes(report) == bytes);
    require(writeGraphs(readGraphs(report.graphs)) == report.graphs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
