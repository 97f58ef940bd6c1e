#pragma once
// The machine as SVG, or as a graph for Graphviz. In the SVG the colour of a link shows how much of it the
// channels of one graph take.
//
//   writeFile("machine.svg", machineSvg(host, layOut(host), {.standalone = true}));

#include <string>

#include "insight/report/machine_layout.h"

namespace xylem::report {

struct SvgOptions {
  bool standalone = false;  // a file of its own, which includes the style
  // Draws the channels of this graph; links that none of them uses are drawn as unused.
  search::GraphKind graph = search::GraphKind::kRing;
};

std::string machineSvg(const HostPicture& host, const MachineLayout& layout, const SvgOptions& options);

// Returns how much of a lane is taken: 0 for nothing, 1 to 4 for up to 25, 50, 75 and 97 %, 5 for more. The
// page's style has a colour for each level.
int useLevel(float used, float bandwidth);

// "PCI between switch 0000:10:00.0 and GPU 0": the name of a link in the page and the SVG.
std::string linkName(const HostPicture& host, const PictureLink& link);

// The machine as a graph in Graphviz's DOT language, for layouts by `dot -Tsvg machine.dot`.
std::string machineDot(const HostPicture& host);

}  // namespace xylem::report
