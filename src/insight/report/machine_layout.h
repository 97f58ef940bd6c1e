#pragma once
// Computes where the nodes and links of a machine are drawn. A PCI node is a bar as wide as everything below
// it, so that PCI links are vertical. CPUs form the top row, GPUs and NETs the bottom row, and NVLinks run
// below that.
//
//   const MachineLayout layout = layOut(host);
//   layout.boxes[node].x, layout.lines[link].lanes[0].path           // pixels, y downwards; SVG path data
//
// Nodes keep the order of the topology file, so the same machine always gets the same layout.

#include <array>
#include <string>
#include <vector>

#include "insight/report/picture.h"

namespace xylem::report {

struct Box {
  float x = 0, y = 0, width = 0, height = 0;  // x, y: the upper left corner
  float middle() const { return x + width / 2; }
  float bottom() const { return y + height; }
};

struct LinkLine {
  std::array<std::string, 2> lanes;  // SVG path data, by lane, in the direction of the lane
  float labelX = 0, labelY = 0;
  bool upright = false;  // the label is beside the line, not on it
};

struct MachineLayout {
  float width = 0, height = 0;
  std::vector<Box> boxes;       // by node
  std::vector<Box> panels;      // one around each CPU and all nodes below it
  std::vector<LinkLine> lines;  // by link
};

MachineLayout layOut(const HostPicture& host);

}  // namespace xylem::report
