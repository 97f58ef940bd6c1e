#pragma once
// Small machines as topology text, for the tests of the planner.
//
//   const Document document = parseTopology(machine(cpu(0, gpu("0000:20:00.0", 0, 80, ""))), "test.xml");

#include <fmt/format.h>

#include <string>

#include "planner/topology/complete.h"
#include "planner/topology/document.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::testing {

inline topology::System systemOf(const std::string& text) {
  return topology::buildSystem(
      topology::completeForJob(topology::parseTopology(text, "test.xml"), *testing::rules225()),
      testing::rules225());
}

inline std::string cpu(
    int numa, const std::string& inside,
    const std::string& kind = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85")") {
  return fmt::format("<cpu numaid=\"{}\" {}>{}</cpu>", numa, kind, inside);
}
inline std::string machine(const std::string& cpus) { return "<system version=\"1\">" + cpus + "</system>"; }
inline std::string gpu(const std::string& bus, int dev, int sm, const std::string& links = "",
                       const std::string& speed = "8.0 GT/s PCIe") {
  return fmt::format(
      R"(<pci busid="{}" class="0x030200" link_speed="{}" link_width="16"><gpu dev="{}" sm="{}" rank="{}" gdr="1">{}</gpu></pci>)",
      bus, speed, dev, sm, dev, links);
}
inline std::string nic(const std::string& bus, int dev, int mbps,
                       const std::string& speed = "8.0 GT/s PCIe") {
  return fmt::format(
      R"(<pci busid="{}" class="0x020000" link_speed="{}" link_width="16"><nic><net name="mlx5_{}" dev="{}" speed="{}" port="1" guid="{:#x}" gdr="1"/></nic></pci>)",
      bus, speed, dev, dev, mbps, 0x1234 + dev);
}
inline std::string pciSwitch(const std::string& bus, const std::string& inside,
                             const std::string& speed = "8.0 GT/s PCIe") {
  return fmt::format(
      R"(<pci busid="{}" class="0x060400" vendor="0x10b5" device="0x8747" link_speed="{}" link_width="16">{}</pci>)",
      bus, speed, inside);
}
inline std::string nvlink(const std::string& target, int count) {
  return fmt::format(R"(<nvlink target="{}" count="{}" tclass="0x030200"/>)", target, count);
}
inline std::string nvswitch(int count) {
  return fmt::format(R"(<nvlink target="fffffff:ffff:ff" count="{}" tclass="0x068000"/>)", count);
}

// Two GPUs and a NIC below one switch of an Intel CPU, all Gen3 x16: small enough to follow by hand.
inline std::string twoGpusOneNic() {
  return machine(cpu(0, pciSwitch("0000:10:00.0", gpu("0000:11:00.0", 0, 70) + gpu("0000:12:00.0", 1, 70) +
                                                      nic("0000:13:00.0", 0, 100000))));
}
// Four GPUs on one CPU with uneven NVLinks.
inline std::string fourGpusMesh() {
  const auto bus = [](int i) { return fmt::format("0000:{}0:00.0", i + 1); };
  const int counts[4][4] = {{0, 1, 1, 4}, {1, 0, 4, 1}, {1, 4, 0, 4}, {4, 1, 4, 0}};
  std::string gpus;
  for (int g = 0; g < 4; ++g) {
    std::string links;
    for (int p = 0; p < 4; ++p)
      if (p != g) links += nvlink(bus(p), counts[g][p]);
    gpus += gpu(bus(g), g, 70, links);
  }
  return machine(cpu(0, gpus));
}

}  // namespace xylem::testing
