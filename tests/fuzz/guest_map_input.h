#pragma once
// One input of the guest map's fuzzer, also run over the corpus by tests/insight/vm/guest_test.cc: whatever the
// bytes are, they are a map or refused; and what a small host makes of the map is a machine, or refused.
//
//   feedGuestMap(bytes);   // true if they are a map

#include <string>
#include <string_view>

#include "core/error.h"
#include "fuzz/require.h"
#include "insight/vm/guest_topology.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem {

inline const Document& fuzzedHost() {
  static const Document host = parseTopology(
      R"(<system version="1"><cpu numaid="0" arch="arm64"><pci busid="0000:10:00.0" class="0x060400">
      <pci busid="0000:11:00.0"><gpu dev="0" sm="90"><nvlink target="0000:12:00.0" count="1"/></gpu></pci>
      <pci busid="0000:12:00.0"><gpu dev="1" sm="90"><nvlink target="0000:11:00.0" count="1"/></gpu></pci>
      <pci busid="0000:13:00.0"><nic><net name="mlx5_0" dev="0"/><net name="mlx5_1" dev="1"/></nic></pci></pci></cpu>
      <cpu numaid="1" arch="arm64"><nic><net name="eth0" dev="2"/></nic></cpu></system>)",
      "host.xml");
  return host;
}

inline bool feedGuestMap(std::string_view bytes) {
  try {
    const GuestMap map = parseGuestMap(bytes, "input.map");
    require(!map.devices.empty());
    try {
      const std::string text = writeTopology(guestTopology(fuzzedHost(), map));
      require(buildSystem(completeForJob(parseTopology(text, "guest.xml"))).count(NodeType::kGpu) >= 1);
    } catch (const InputError&) {
    }
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
