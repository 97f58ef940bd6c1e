#pragma once
// Draws pictures of machines in topologies/, and of machines that tests write.
//
//   const Picture picture = pictureOf("dgxh100", 2);

#include <map>
#include <string>

#include "insight/report/picture.h"
#include "insight/why/why.h"

namespace xylem::testing {

inline std::string zooFile(const std::string& machine) {
  return std::string(XYLEM_SOURCE_DIR) + "/topologies/" + machine + ".xml";
}

inline why::Inquiry inquiryInto(const std::string& machine, int hosts,
                                const std::map<std::string, std::string>& settings = {}) {
  return why::Inquiry(plan::identicalHosts(topology::readTopology(zooFile(machine)), hosts),
                      Settings::fromPairs(settings));
}

inline report::Picture pictureOf(const std::string& machine, int hosts,
                                 const std::map<std::string, std::string>& settings = {}) {
  return report::drawPicture(inquiryInto(machine, hosts, settings), {.title = machine, .answers = false});
}

inline report::Picture pictureOfText(const std::string& text, int hosts) {
  const why::Inquiry inquiry(plan::identicalHosts(topology::parseTopology(text, "test.xml"), hosts),
                             Settings::fromPairs({}));
  return report::drawPicture(inquiry, {.title = "test.xml", .answers = false});
}

// Returns the first node with this label, or kNoNode.
inline topology::NodeId nodeNamed(const report::HostPicture& host, const std::string& label) {
  for (std::size_t i = 0; i < host.nodes.size(); ++i)
    if (host.nodes[i].label == label) return static_cast<topology::NodeId>(i);
  return topology::kNoNode;
}

// Returns the GB/s that the graph's channels take from `from` to `to`; negative if there is no such link.
inline float usedBetween(const report::HostPicture& host, const report::PictureGraph& graph,
                         const std::string& from, const std::string& to, topology::LinkType type) {
  const topology::NodeId a = nodeNamed(host, from), b = nodeNamed(host, to);
  for (std::size_t i = 0; i < host.links.size(); ++i) {
    const report::PictureLink& link = host.links[i];
    if (link.type != type) continue;
    if (link.a == a && link.b == b) return graph.used[i][0];
    if (link.a == b && link.b == a) return graph.used[i][1];
  }
  return -1;
}

}  // namespace xylem::testing
