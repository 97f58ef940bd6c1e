#pragma once
// One input of the fuzzer of virtual machines' maps, also run over the corpus by tests/insight/vm/vm_test.cc:
// whatever the bytes are, they are a map or refused; and the topology of a small host with this map is a
// machine, or refused.
//
//   feedVmMap(bytes);   // true if they are a map

#include <string>
#include <string_view>

#include "core/error.h"
#include "fuzz/require.h"
#include "insight/vm/vm_topology.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem {

inline const topology::Document& fuzzedHost() {
  static const topology::Document host = topology::parseTopology(
      R"(<system version="1"><cpu numaid="0" arch="arm64"><pci busid="0000:10:00.0" class="0x060400">
      <pci busid="0000:11:00.0"><gpu dev="0" sm="90"><nvlink target="0000:12:00.0" count="1"/></gpu></pci>
      <pci busid="0000:12:00.0"><gpu dev="1" sm="90"><nvlink target="0000:11:00.0" count="1"/></gpu></pci>
      <pci busid="0000:13:00.0"><nic><net name="mlx5_0" dev="0"/><net name="mlx5_1" dev="1"/></nic></pci></pci></cpu>
      <cpu numaid="1" arch="arm64"><nic><net name="eth0" dev="2"/></nic></cpu></system>)",
      "host.xml");
  return host;
}

inline bool feedVmMap(std::string_view bytes) {
  try {
    const vm::VmMap map = vm::parseVmMap(bytes, "input.map");
    require(!map.devices.empty());
    try {
      const std::string text = topology::writeTopology(vm::vmTopology(fuzzedHost(), map));
      require(topology::buildSystem(
                  topology::completeForJob(topology::parseTopology(text, "vm.xml"), *rules::newestRules()),
                  rules::newestRules())
                  .count(topology::NodeType::kGpu) >= 1);
    } catch (const InputError&) {
    }
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
