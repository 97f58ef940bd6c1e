#include "insight/lint/vocabulary.h"

#include <limits>

namespace xylem {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

constexpr ElementRule kElements[] = {
    {"cpu", {"system", ""}}, {"pci", {"cpu", "pci"}}, {"gpu", {"pci", ""}}, {"nic", {"cpu", "pci"}},
    {"net", {"nic", ""}},    {"nvlink", {"gpu", ""}}, {"c2c", {"gpu", ""}}, {"pcilink", {"pci", ""}},
};

using enum ValueForm;

constexpr AttributeRule kAttributes[] = {
    {"system", "version", kInteger, 1, 1, true, "version=\"1\""},
    {"cpu", "numaid", kInteger, -1, kMaxInt, true, "numaid=\"0\": the number of the NUMA node"},
    {"cpu", "arch", kText, 0, 0, true, "arch=\"x86_64\", or arm64, or ppc64"},
    {"cpu", "vendor", kText, 0, 0, false, "vendor=\"GenuineIntel\" or \"AuthenticAMD\""},
    {"cpu", "familyid", kInteger, -kMaxInt, kMaxInt, false, "familyid=\"6\": `cpu family` in /proc/cpuinfo"},
    {"cpu", "modelid", kInteger, -kMaxInt, kMaxInt, false, "modelid=\"143\": `model` in /proc/cpuinfo"},
    {"cpu", "affinity", kText, 0, 0, false, "affinity=\"0000ffff\": a mask in hex"},
    {"cpu", "host_hash", kHex, 0, 0, false, "host_hash=\"0x1\""},
    {"pci", "busid", kBusId, 0, 0, true, "busid=\"0000:1b:00.0\""},
    {"pci", "class", kHex, 0, 0, false, "class=\"0x060400\" for a switch"},
    {"pci", "vendor", kHex, 0, 0, false, "vendor=\"0x10de\""},
    {"pci", "device", kHex, 0, 0, false, "device=\"0x2330\""},
    {"pci", "subsystem_vendor", kHex, 0, 0, false, "subsystem_vendor=\"0x10de\""},
    {"pci", "subsystem_device", kHex, 0, 0, false, "subsystem_device=\"0x16c1\""},
    {"pci", "link_speed", kText, 0, 0, false, "link_speed=\"32.0 GT/s PCIe\""},
    {"pci", "link_width", kInteger, 0, 1 << 16, false, "link_width=\"16\""},
    {"gpu", "dev", kInteger, -1, kMaxInt, true, "dev=\"0\": the number of the GPU on its host"},
    {"gpu", "sm", kInteger, 0, 10000, true, "sm=\"90\": the compute capability, 9.0 as 90"},
    {"gpu", "rank", kInteger, 0, kMaxInt, false, "rank=\"0\""},
    {"gpu", "gdr", kFlag, 0, 1, false, "gdr=\"1\": GPU Direct RDMA works"},
    {"gpu", "keep", kFlag, 0, 1, false, "keep=\"1\""},
    {"gpu", "host", kFlag, 0, 1, false, "host=\"1\": CPU cores that compute"},
    {"nvlink", "target", kBusId, 0, 0, false, "target=\"0000:1b:00.0\": the bus id of the other end"},
    {"nvlink", "count", kInteger, 0, 1 << 16, true, "count=\"18\": so many links"},
    {"nvlink", "tclass", kHex, 0, 0, false, "tclass=\"0x068000\" for an NVSwitch, \"0x030200\" for a GPU"},
    {"c2c", "bw", kInteger, 0, 1'000'000'000, true, "bw=\"44712\": MB/s of one link"},
    {"c2c", "count", kInteger, 0, 1 << 16, true, "count=\"10\": so many links"},
    {"pcilink", "target", kBusId, 0, 0, true, "target=\"0000:10:00.0\": the bus id of another switch"},
    {"net", "name", kText, 0, 0, false, "name=\"mlx5_0\""},
    {"net", "dev", kInteger, 0, kMaxInt, false, "dev=\"0\": the number of the port on its host"},
    {"net", "speed", kInteger, -kMaxInt, 1'000'000'000, false, "speed=\"400000\": in Mb/s"},
    {"net", "latency", kNumber, 0, 0, false, "latency=\"0\": in microseconds"},
    {"net", "gdr", kFlag, 0, 1, false, "gdr=\"1\": the card reaches GPU memory"},
    {"net", "guid", kHex, 0, 0, false, "guid=\"0x1234\""},
    {"net", "port", kInteger, -kMaxInt, kMaxInt, false, "port=\"1\""},
    {"net", "maxconn", kInteger, -kMaxInt, kMaxInt, false, "maxconn=\"131072\""},
    {"net", "coll", kFlag, 0, 1, false, "coll=\"1\": the network reduces"},
    {"net", "keep", kFlag, 0, 1, false, "keep=\"1\""},
};

}  // namespace

std::span<const ElementRule> elementRules() { return kElements; }
std::span<const AttributeRule> attributeRules() { return kAttributes; }

const ElementRule* elementRule(std::string_view name) {
  for (const ElementRule& rule : kElements)
    if (rule.name == name) return &rule;
  return nullptr;
}

const AttributeRule* attributeRule(std::string_view element, std::string_view name) {
  for (const AttributeRule& rule : kAttributes)
    if (rule.element == element && rule.name == name) return &rule;
  return nullptr;
}

}  // namespace xylem
