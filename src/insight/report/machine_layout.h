#pragma once
// Where the nodes and links of a machine are drawn: what hangs below what as bars, each as wide as all below
// it, so that PCI links stand upright; CPUs in a row, GPUs and NETs in another one; NVLinks below these.
//
//   const MachineLayout layout = layOut(host);
//   layout.boxes[node].x, layout.lines[link].lanes[0].path           // pixels, y downwards; SVG path data
//
// The order is that of the description. Everything is where the same machine always has it.

#include <array>
#include <string>
#include <vector>

#include "insight/report/picture.h"

namespace xylem {

struct Box {
  float x = 0, y = 0, width = 0, height = 0;  // x, y: the upper left corner
  float middle() const { return x + width / 2; }
  float bottom() const { return y + height; }
};

struct LinkLine {
  std::array<std::string, 2> lanes;  // SVG path data, by lane, in the direction of the lane
  float labelX = 0, labelY = 0;
  bool upright = false;  // the label stands beside it, not on it
};

struct MachineLayout {
  float width = 0, height = 0;
  std::vector<Box> boxes;       // by node
  std::vector<Box> panels;      // one around each CPU and what hangs below it
  std::vector<LinkLine> lines;  // by link
};

MachineLayout layOut(const HostPicture& host);

}  // namespace xylem
