// Checks names, nesting, attributes and the form of their values against the vocabulary of topology files,
// which stands here as two tables: the parents that an element may have, and the attributes of each element.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "core/edit_distance.h"
#include "insight/lint/checks.h"
#include "planner/rules/attributes.h"
#include "planner/topology/attributes.h"

namespace xylem::lint {
namespace {

// The vocabulary of topology files.

struct ElementRule {
  std::string_view name;
  std::string_view parents[2];  // the elements that may hold it; the second may be empty
};

enum class ValueForm { kText, kInteger, kFlag, kHex, kNumber, kBusId };

struct AttributeRule {
  std::string_view element, name;
  ValueForm form = ValueForm::kText;
  std::int64_t min = 0, max = 0;  // for integers
  bool needed = false;            // without exception
  std::string_view example;       // "sm=\"90\": the compute capability, 9.0 as 90"
};

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
    {"cpu", "rack", kText, 0, 0, false, "rack=\"1821234567890\": the serial number of its rack"},
    {"cpu", "bw", kNumber, 0, 0, false, "bw=\"32\": GB/s to other CPUs, in place of NCCL's rule"},
    {"pci", "busid", kBusId, 0, 0, true, "busid=\"0000:1b:00.0\""},
    {"pci", "class", kHex, 0, 0, false, "class=\"0x060400\" for a switch"},
    {"pci", "vendor", kHex, 0, 0, false, "vendor=\"0x10de\""},
    {"pci", "device", kHex, 0, 0, false, "device=\"0x2330\""},
    {"pci", "subsystem_vendor", kHex, 0, 0, false, "subsystem_vendor=\"0x10de\""},
    {"pci", "subsystem_device", kHex, 0, 0, false, "subsystem_device=\"0x16c1\""},
    {"pci", "link_speed", kText, 0, 0, false, "link_speed=\"32.0 GT/s PCIe\""},
    {"pci", "link_width", kInteger, 0, 1 << 16, false, "link_width=\"16\""},
    {"pci", "bw", kNumber, 0, 0, false, "bw=\"50\": GB/s of its link, in place of NCCL's rule"},
    {"gpu", "dev", kInteger, -1, kMaxInt, true, "dev=\"0\": the number of the GPU on its host"},
    {"gpu", "sm", kInteger, 0, 10000, true, "sm=\"90\": the compute capability, 9.0 as 90"},
    {"gpu", "rank", kInteger, 0, kMaxInt, false, "rank=\"0\""},
    {"gpu", "gdr", kFlag, 0, 1, false, "gdr=\"1\": GPU Direct RDMA works"},
    {"gpu", "keep", kFlag, 0, 1, false, "keep=\"1\""},
    {"gpu", "host", kFlag, 0, 1, false, "host=\"1\": CPU cores that compute"},
    {"gpu", "mlopart", kInteger, -1, 1, false, "mlopart=\"0\": the part of the device that this is"},
    {"nvlink", "bw", kNumber, 0, 0, false, "bw=\"300\": GB/s of all its links, in place of NCCL's rule"},
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
    {"net", "rail", kInteger, -1, kMaxInt, false, "rail=\"0\": the rail of the network that it is on"},
    {"net", "plane", kInteger, -1, kMaxInt, false, "plane=\"0\": the plane of the network that it is on"},
    {"net", "net", kFlag, 0, 1, false, "net=\"0\": ranks do not send through it"},
    {"net", "gin", kFlag, 0, 1, false, "gin=\"1\": GPUs start its operations themselves"},
    {"net", "rma", kFlag, 0, 1, false, "rma=\"1\": it does one-sided operations"},
    {"net", "coll", kFlag, 0, 1, false, "coll=\"1\": the network reduces"},
    {"net", "keep", kFlag, 0, 1, false, "keep=\"1\""},
};

// Null if there is no such element.
const ElementRule* elementRule(std::string_view name) {
  for (const ElementRule& rule : kElements)
    if (rule.name == name) return &rule;
  return nullptr;
}

// Null if the element has no such attribute.
const AttributeRule* attributeRule(std::string_view element, std::string_view name) {
  for (const AttributeRule& rule : kAttributes)
    if (rule.element == element && rule.name == name) return &rule;
  return nullptr;
}

// NCCL's own limits. It drops what exceeds them, or refuses the file.
constexpr std::size_t kMaxNcclAttributes = 16;
constexpr std::size_t kMaxNcclValueLength = 255;
// Longer values are cut in findings.
constexpr std::size_t kMaxShownLength = 40;

std::string shown(std::string_view value) {
  return value.size() > kMaxShownLength ? std::string(value.substr(0, kMaxShownLength)) + "…"
                                        : std::string(value);
}

std::string orNearest(const std::string& fix, const std::string& word,
                      const std::vector<std::string>& words) {
  const std::string nearest = nearestWord(word, words);
  return nearest.empty() ? fix : fmt::format("{}; or did you mean {}?", fix, nearest);
}

class Schema {
 public:
  Schema(const topology::Document& document, const rules::RuleSet& rules, Findings& findings)
      : document_(document), rules_(rules), findings_(findings) {}

  bool check() {
    const topology::Element& root = document_[document_.root()];
    if (root.name == "graphs") {
      add(Severity::kError, "graph-file", document_.root(),
          "a graph file: the channels of a host, not the host",
          "give NCCL_TOPO_FILE the machine, and NCCL_GRAPH_FILE this file");
      return false;
    }
    if (root.name != "system") {
      add(Severity::kError, "root", document_.root(), fmt::format("the element {} as the root", root.name),
          "write <system version=\"1\"> around the cpu elements");
      return false;
    }
    checkAttributes(document_.root());
    checkInside(document_.root());
    return true;
  }

 private:
  void add(Severity severity, const char* rule, topology::ElementId at, std::string found, std::string fix) {
    findings_.add(severity, rule, document_[at].line, std::move(found), std::move(fix));
  }

  void checkInside(topology::ElementId parent) {
    const auto& children = document_[parent].children;
    if (children.size() > static_cast<std::size_t>(rules_.maxChildren))
      add(Severity::kWarning, "too-many-children", parent,
          fmt::format("{} elements in one {}: NCCL stops at {}", children.size(), document_[parent].name,
                      rules_.maxChildren),
          rules_.maxChildren < rules::newestRules()->maxChildren
              ? fmt::format("use NCCL 2.29 or a newer one, which takes {}; or describe fewer of them",
                            rules::newestRules()->maxChildren)
              : "put some of them below switches of their own, or describe fewer");
    for (const topology::ElementId child : children) {
      if (!checkPlace(parent, child)) continue;
      checkAttributes(child);
      checkInside(child);
    }
  }

  // Returns false if readers leave the element out, with all it holds.
  bool checkPlace(topology::ElementId parent, topology::ElementId child) {
    const topology::Element& element = document_[child];
    const ElementRule* rule = elementRule(element.name);
    if (rule == nullptr) {
      std::vector<std::string> names;
      for (const ElementRule& known : kElements) names.emplace_back(known.name);
      add(Severity::kWarning, "unknown-element", child,
          fmt::format("the element {}: it is left out, with all it holds", shown(element.name)),
          orNearest("remove it", element.name, names));
      return false;
    }
    const std::string& inside = document_[parent].name;
    if (inside == rule->parents[0] || inside == rule->parents[1]) return true;
    std::string fix = fmt::format("put it into a {}", rule->parents[0]);
    if (!rule->parents[1].empty()) fix += fmt::format(" or a {}", rule->parents[1]);
    if (element.name == "gpu") fix += " of its own: <pci busid=\"…\" class=\"0x030200\">";
    add(Severity::kError, "misplaced-element", child,
        fmt::format("{} directly in {}: it is left out, with all it holds", element.name, inside), fix);
    return false;
  }

  void checkAttributes(topology::ElementId element) {
    const topology::Element& e = document_[element];
    std::size_t count = 0;
    for (const auto& [key, value] : e.attributes) {
      if (++count > kMaxNcclAttributes)
        add(Severity::kWarning, "too-many-attributes", element,
            fmt::format("the attribute {} after {} others: it is left out", shown(key), kMaxNcclAttributes),
            "remove what is not needed");
      if (value.size() > kMaxNcclValueLength)
        add(Severity::kWarning, "long-value", element,
            fmt::format("{} of {} characters: NCCL stops at {}", shown(key), value.size(),
                        kMaxNcclValueLength),
            "write a shorter one");
      checkAttribute(element, key, value);
    }
    for (const AttributeRule& rule : kAttributes)
      if (rule.element == e.name && rule.needed && document_.attribute(element, rule.name) == nullptr)
        addMissing(element, rule);
  }

  void addMissing(topology::ElementId element, const AttributeRule& rule) {
    std::string found = fmt::format("{} without `{}`", document_[element].name, rule.name);
    if (rule.element == "cpu" && rule.name == "arch")
      found += ": NCCL says \"Attribute arch of node cpu not found\" and ends";
    add(Severity::kError, "missing-attribute", element, found, fmt::format("write {}", rule.example));
  }

  void checkAttribute(topology::ElementId element, const std::string& key, const std::string& value) {
    const std::string& name = document_[element].name;
    const AttributeRule* rule = attributeRule(name, key);
    if (rule == nullptr) {
      std::vector<std::string> names;
      for (const AttributeRule& known : kAttributes)
        if (known.element == name) names.emplace_back(known.name);
      add(Severity::kWarning, "unknown-attribute", element,
          fmt::format("the attribute {} of a {}: nothing reads it", shown(key), name),
          orNearest("remove it", key, names));
      return;
    }
    checkVersion(element, key);
    if (!isWellFormed(*rule, value))
      add(Severity::kError, "bad-value", element, fmt::format("{} with {}=\"{}\"", name, key, shown(value)),
          fmt::format("write {}", rule->example));
  }

  // Versions leave out attributes that they do not know.
  void checkVersion(topology::ElementId element, const std::string& key) {
    const auto since = rules::firstWith(document_[element].name, key);
    if (!since) return;
    if (!rules::knowsAttribute(rules_.version, document_[element].name, key))
      add(Severity::kWarning, "newer-attribute", element,
          fmt::format("the attribute {} of a {}: NCCL {} does not know it, and leaves it out", key,
                      document_[element].name, rules::versionText(rules_.version)),
          fmt::format("plan for NCCL {} or newer, or remove it", rules::versionText(*since)));
    else
      add(Severity::kNote, "new-attribute", element,
          fmt::format("the attribute {} of a {}: NCCL before {} does not know it, and leaves it out", key,
                      document_[element].name, rules::versionText(*since)),
          "nothing, if no older version reads the file");
  }

  static bool isWellFormed(const AttributeRule& rule, const std::string& value) {
    char* end = nullptr;
    switch (rule.form) {
      case ValueForm::kText:
        return true;
      case ValueForm::kBusId:
        return topology::parseBusId(value).has_value();
      case ValueForm::kHex:
        if (value.empty()) return true;
        std::strtoull(value.c_str(), &end, 16);
        return end != value.c_str();
      case ValueForm::kNumber: {
        const float number = std::strtof(value.c_str(), &end);
        return end != value.c_str() && std::isfinite(number) && number >= 0;
      }
      case ValueForm::kInteger:
      case ValueForm::kFlag: {
        if (value.empty()) return true;  // readers take it for 0
        const long long number = std::strtoll(value.c_str(), &end, 0);
        return end != value.c_str() && number >= rule.min && number <= rule.max;
      }
    }
    return true;
  }

  const topology::Document& document_;
  const rules::RuleSet& rules_;
  Findings& findings_;
};

}  // namespace

bool checkSchema(const topology::Document& document, const rules::RuleSet& rules, Findings& findings) {
  return Schema(document, rules, findings).check();
}

}  // namespace xylem::lint
