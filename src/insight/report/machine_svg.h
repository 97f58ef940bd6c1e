#pragma once
// The machine as SVG, links coloured by how much of them the channels of one graph take.
//
//   writeFile("machine.svg", machineSvg(host, layOut(host), {.standalone = true}));

#include <string>

#include "insight/report/machine_layout.h"

namespace xylem {

struct SvgOptions {
  bool standalone = false;             // a file of its own, with its style
  GraphKind graph = GraphKind::kRing;  // whose channels count; of a host that has none, no link is used
};

std::string machineSvg(const HostPicture& host, const MachineLayout& layout, const SvgOptions& options);

// How much of a lane is taken: 0 nothing, 1 to 4 up to 25, 50, 75 and 97 %, 5 more. The page's style has a
// colour for each.
int useLevel(float used, float bandwidth);

// "PCI between switch 0000:10:00.0 and GPU 0": how the page and the SVG name a link.
std::string linkName(const HostPicture& host, const PictureLink& link);

}  // namespace xylem
