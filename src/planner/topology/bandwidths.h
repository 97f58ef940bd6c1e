#pragma once
// The bandwidths of links in a machine's graph, in GB/s (1e9 bytes per second) unless a comment says
// otherwise. They are the constants of NCCL's topology stage: fitted values, which follow from no formula.
//
//   nvlinkBandwidth(90, rules)   ->   20.6, one NVLink of an H100

#include <string_view>

#include "planner/topology/system.h"

namespace xylem::topology {

// Between nodes in the same place: a node and itself, a CPU and its own NIC, two switches with a direct lane.
constexpr float kLocalBandwidth = 5000.0f;
// The most that `bw`, --link or an edit may give a link.
constexpr int kMaxOverride = 1'000'000;
// Between two parts of one GPU.
constexpr float kPartBandwidth = 2618.0f;

// One NVLink of a GPU of compute capability `sm` (major * 10 + minor).
constexpr float nvlinkBandwidth(int sm, const rules::RuleSet& rules) {
  if (sm >= 100) return rules.nvlinkSm100;
  if (sm >= 90) return 20.6f;
  if (sm == 86) return 12.0f;
  if (sm >= 70) return 20.0f;
  if (sm >= 60) return 18.0f;
  return 20.0f;
}

// A link between two CPUs (NUMA nodes) of one host; the arguments describe the CPU that the link leaves.
constexpr float interCpuBandwidth(CpuArch arch, CpuVendor vendor, int model) {
  switch (arch) {
    case CpuArch::kPower:
      return 32.0f;
    case CpuArch::kArm:
      return 6.0f;
    case CpuArch::kX86:
      break;
    default:
      return kLocalBandwidth;
  }
  switch (vendor) {
    case CpuVendor::kIntel:
      switch (model) {
        case kCpuModelIntelErp:
          return 40.0f;
        case kCpuModelIntelSrp:
          return 22.0f;
        case kCpuModelIntelSkl:
          return 10.0f;
        default:
          return 6.0f;
      }
    case CpuVendor::kAmd:
      return 16.0f;
    case CpuVendor::kZhaoxin:
      return model == kCpuModelYongfeng ? 9.0f : 6.0f;
    default:
      return kLocalBandwidth;
  }
}

// CPUs of two sockets whose link carries more than the rule for their vendor has, by their family and model in
// /proc/cpuinfo. `bandwidth` is a floor: half of one of the three or four links of 16 lanes at 32 Gb/s that join the sockets
// (AMD's public data sheets). Nothing reads it while planning; `xylem repair` proposes it.
struct FasterCpu {
  CpuVendor vendor;
  int family, firstModel, lastModel;
  const char* name;
  float bandwidth;
};
constexpr FasterCpu kFasterCpus[] = {
    {CpuVendor::kAmd, 0x19, 0x10, 0x1f, "AMD Genoa", 32.0f},
    {CpuVendor::kAmd, 0x19, 0xa0, 0xaf, "AMD Bergamo", 32.0f},
    {CpuVendor::kAmd, 0x1a, 0x00, 0x1f, "AMD Turin", 32.0f},
};

// The speed of a PCI lane, in units of 100 Mb/s, by the text of `link_speed`: the first prefix that matches.
struct PciLaneSpeed {
  std::string_view prefix;
  int speed;
};
constexpr PciLaneSpeed kPciLaneSpeeds[] = {
    {"2.5 GT/s", 15},        {"5 GT/s", 30},          {"8 GT/s", 60},          {"16 GT/s", 120},
    {"32 GT/s", 240},        {"2.5 GT/s PCIe", 15},   {"5.0 GT/s PCIe", 30},   {"8.0 GT/s PCIe", 60},
    {"16.0 GT/s PCIe", 120}, {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480},
};
constexpr int kPciLaneSpeedDefault = 60;
constexpr int kPciLanesDefault = 16;
constexpr double kPciLaneUnitsPerGBps = 80.0;

// Network devices: speed in Mb/s if the description has none, and Mb/s per GB/s.
constexpr int kNetSpeedDefault = 10000;
// A smaller speed is most likely written in Gb/s.
constexpr int kNetSpeedLeastLikely = 1000;
constexpr double kNetMbpsPerGBps = 8000.0;
// The attribute `bw` of c2c elements is in MB/s.
constexpr double kC2cMBpsPerGBps = 1000.0;

}  // namespace xylem::topology
