// Checks NVLinks and PCI links between switches: that their ends exist, and that NVLinks are the same in both
// directions and, to an NVSwitch, for all GPUs.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "insight/lint/checks.h"
#include "planner/topology/attributes.h"

namespace xylem::lint {
namespace {

constexpr std::int64_t kMaxNvlinks = 18;  // the most that a GPU of any architecture has

// The host of a device and its bus id.
using Place = std::pair<std::string, std::uint64_t>;

// All NVLinks in one direction between two GPUs.
struct Nvlink {
  topology::ElementId element;  // the last of them
  std::int64_t count;
};

class LinkCheck {
 public:
  LinkCheck(const topology::Document& document, Findings& findings)
      : document_(document), findings_(findings) {}

  void check() {
    for (const topology::ElementId gpu : elementsCalled(document_, "gpu"))
      if (const auto place = placeOf(gpu)) gpus_[*place] = gpu;
    for (const topology::ElementId nvlink : elementsCalled(document_, "nvlink")) readNvlink(nvlink);
    checkBothWays();
    checkSwitched();
    checkPcilinks();
  }

 private:
  void add(Severity severity, const char* rule, topology::ElementId at, std::string found, std::string fix) {
    findings_.add(severity, rule, document_[at].line, std::move(found), std::move(fix));
  }

  // The place of the device that the element belongs to.
  std::optional<Place> placeOf(topology::ElementId element) const {
    const topology::ElementId pci = holderOf(document_, element, "pci");
    if (pci == topology::kNoElement) return std::nullopt;
    const auto id = topology::parseBusId(document_.text(pci, "busid"));
    if (!id) return std::nullopt;
    const topology::ElementId cpu = holderOf(document_, element, "cpu");
    return Place(cpu == topology::kNoElement ? "" : document_.text(cpu, "host_hash"), *id);
  }

  void readNvlink(topology::ElementId nvlink) {
    const auto from = placeOf(nvlink);
    const std::int64_t count = numberOf(document_, nvlink, "count").value_or(0);
    if (!from || document_[document_[nvlink].parent].name != "gpu") return;
    if (count > kMaxNvlinks)
      add(Severity::kWarning, "nvlink-count", nvlink, fmt::format("{} NVLinks: no GPU has that many", count),
          fmt::format("write at most {}", kMaxNvlinks));
    if (count == 0)
      add(Severity::kWarning, "nvlink-count", nvlink, "an nvlink with no link",
          "remove it, or write their number");
    const std::string* target = document_.attribute(nvlink, "target");
    const auto id = target == nullptr ? std::nullopt : topology::parseBusId(*target);
    const std::string* code = document_.attribute(nvlink, "tclass");
    const Place to(from->first, id.value_or(0));
    const bool toGpu =
        code != nullptr ? topology::pciClass(*code) == topology::PciClass::kGpu : id && gpus_.contains(to);
    if (!toGpu) {
      if (code == nullptr || topology::pciClass(*code) != topology::PciClass::kCpu)
        switched_[document_[nvlink].parent] += count;
      return;
    }
    if (!id) {
      add(Severity::kError, "missing-attribute", nvlink, "an nvlink to a GPU without `target`",
          "write target=\"0000:1b:00.0\": the bus id of the other GPU");
      return;
    }
    if (!gpus_.contains(to)) {
      add(Severity::kWarning, "nvlink-target", nvlink,
          fmt::format("an nvlink to {}, where there is no gpu: it is left out", *target),
          "write the bus id of a gpu of this file, or tclass=\"0x068000\" if it is an NVSwitch");
      return;
    }
    if (to == *from)
      add(Severity::kNote, "nvlink-to-itself", nvlink, "an nvlink of a GPU to itself: NCCL counts it",
          "remove it unless the hypervisor's own file has it");
    Nvlink& known = direct_[{*from, to}];
    known = {nvlink, known.count + count};
  }

  void checkBothWays() {
    for (const auto& [ends, link] : direct_) {
      const auto& [from, to] = ends;
      if (from == to) continue;
      const auto back = direct_.find({to, from});
      const std::string here = topology::busIdText(from.second);
      const std::string there = topology::busIdText(to.second);
      if (back == direct_.end())
        add(Severity::kWarning, "nvlink-one-way", link.element,
            fmt::format("NVLinks from {} to {}, and none back", here, there),
            fmt::format(
                "write <nvlink target=\"{}\" count=\"{}\" tclass=\"0x030200\"/> into the gpu of {}, line {}",
                here, link.count, there, document_[gpus_[to]].line));
      else if (back->second.count != link.count && from < to)
        add(Severity::kWarning, "nvlink-count", link.element,
            fmt::format("{} NVLinks from {} to {}, but {} back (line {})", link.count, here, there,
                        back->second.count, document_[back->second.element].line),
            "write the same count at both ends");
    }
  }

  void checkSwitched() {
    std::set<std::int64_t> counts;
    for (const auto& [gpu, count] : switched_) counts.insert(count);
    if (counts.size() > 1)
      for (const auto& [gpu, count] : switched_)
        if (count < *counts.rbegin())
          add(Severity::kWarning, "nvswitch-count", gpu,
              fmt::format("{} NVLinks to the NVSwitch, where another GPU has {}", count, *counts.rbegin()),
              "write the same count, unless links are really down (`nvidia-smi nvlink -s`)");
    if (switched_.empty()) return;
    for (const auto& [place, gpu] : gpus_)
      if (!switched_.contains(gpu))
        add(Severity::kWarning, "nvswitch-count", gpu,
            "a gpu without NVLinks to the NVSwitch that others have",
            "write <nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/> into it");
  }

  void checkPcilinks() {
    std::set<Place> switches;
    for (const topology::ElementId pci : elementsCalled(document_, "pci")) {
      const auto id = topology::parseBusId(document_.text(pci, "busid"));
      const topology::ElementId cpu = holderOf(document_, pci, "cpu");
      if (id) switches.emplace(cpu == topology::kNoElement ? "" : document_.text(cpu, "host_hash"), *id);
    }
    for (const topology::ElementId link : elementsCalled(document_, "pcilink")) {
      const auto from = placeOf(link);
      const auto target = topology::parseBusId(document_.text(link, "target"));
      if (from && target && !switches.contains(Place(from->first, *target)))
        add(Severity::kWarning, "pcilink-target", link,
            fmt::format("a pcilink to {}, where there is no switch: it is left out",
                        topology::busIdText(*target)),
            "write the bus id of a switch of this file");
    }
  }

  const topology::Document& document_;
  Findings& findings_;
  std::map<Place, topology::ElementId> gpus_;
  std::map<std::pair<Place, Place>, Nvlink> direct_;
  std::map<topology::ElementId, std::int64_t> switched_;  // links to the NVSwitch, by GPU
};

}  // namespace

void checkLinks(const topology::Document& document, Findings& findings) {
  LinkCheck(document, findings).check();
}

}  // namespace xylem::lint
