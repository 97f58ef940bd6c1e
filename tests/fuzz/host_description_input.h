#pragma once
// An input of the fuzzer of host descriptions: the XML of each rank, with a line of three dashes between two.
// Together they make one description, which can be written and read again, or they are refused.
//
//   feedHostDescription(bytes);   // true if they make one

#include <string>
#include <vector>

#include "core/error.h"
#include "fuzz/require.h"
#include "planner/topology/document.h"
#include "runtime/comm/join/host_description.h"

namespace xylem {

inline bool feedHostDescription(std::string_view bytes) {
  constexpr std::string_view kBetween = "\n---\n";
  std::vector<std::string> xmls;
  for (;;) {
    const std::size_t end = bytes.find(kBetween);
    xmls.emplace_back(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + kBetween.size());
  }
  try {
    topology::Document fused = comm::fuseDescriptions(xmls);
    comm::forgetHost(fused);
    const std::string text = topology::writeTopology(fused);
    require(topology::writeTopology(topology::parseTopology(text, "again.xml")) == text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
