#pragma once
// One input of the fabric fuzzers. tests/insight/fabric runs their corpora, too. Reading any bytes either throws
// InputError or gives a fabric that is the same after writing and reading it, and whose routes are valid.

#include <string_view>

#include "core/error.h"
#include "fuzz/require.h"
#include "insight/fabric/fabric_file.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/ib_fabric.h"

namespace xylem {

inline void feedFabric(const fabric::Fabric& fabric) {
  const std::string text = fabric::fabricText(fabric);
  const fabric::Fabric again = fabric::parseFabric(text, "written.txt");
  require(again.sameNetwork(fabric));
  // Skip large fabrics: they exercise the same code and take long.
  if (fabric.switches.size() > 64 || fabric.hosts.size() > 64) return;
  fabric::FabricGraph network(fabric);
  for (int a = 0; a < network.firstInner() / 2; ++a)
    for (int b = 0; b < network.firstInner() / 2 && b < 8; ++b) {
      if (network.distance(network.leaf(a), network.leaf(b)) < 0) continue;
      for (const fabric::LinkShare& share : network.route(network.leaf(a), network.leaf(b)))
        require(share.link >= network.firstInner() && share.link < network.links() && share.part > 0 &&
                share.part < 1.000001);
    }
}

template <typename Parse>
bool feedFabricBytes(const Parse& parse) {
  try {
    feedFabric(parse());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

inline bool feedFabricFile(std::string_view bytes) {
  return feedFabricBytes([&] { return fabric::parseFabric(bytes, "input.txt"); });
}

inline bool feedIbFabric(std::string_view bytes) {
  fabric::looksLikeIbnetdiscover(bytes);
  return feedFabricBytes([&] {
    std::vector<std::string> remarks;
    return fabric::parseIbnetdiscover(bytes, "input.txt", &remarks);
  });
}

}  // namespace xylem
