// Checks pci elements: what they hold, their class, their link, and that bus ids are unique per host.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "insight/lint/checks.h"
#include "planner/topology/attributes.h"
#include "planner/topology/bandwidths.h"

namespace xylem::lint {
namespace {

// Lanes that PCI links can have, and the most that a card has.
constexpr std::array<std::int64_t, 7> kWidths = {1, 2, 4, 8, 12, 16, 32};
constexpr std::int64_t kMaxCardWidth = 16;

// Whether it is written as the kernel does: a domain of four to eight digits, bus, device and function (0000:1b:00.0).
bool isFullBusId(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4 || colon > 8) return false;
  const auto isHex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  const std::string_view domain = text.substr(0, colon), rest = text.substr(colon);
  constexpr std::string_view kForm = ":xx:xx.f";  // x a hexadecimal digit, f a function
  return std::all_of(domain.begin(), domain.end(), isHex) && rest.size() == kForm.size() &&
         std::equal(rest.begin(), rest.end(), kForm.begin(), [&](char c, char form) {
           return form == 'x' ? isHex(c) : form == 'f' ? c >= '0' && c <= '7' : c == form;
         });
}

class PciCheck {
 public:
  PciCheck(const topology::Document& document, const rules::RuleSet& rules, Findings& findings)
      : document_(document), rules_(rules), findings_(findings) {}

  void check() {
    for (const topology::ElementId pci : elementsCalled(document_, "pci")) {
      const bool gpu = document_.child(pci, "gpu") != topology::kNoElement;
      const bool nic = document_.child(pci, "nic") != topology::kNoElement;
      checkHolds(pci, gpu, nic);
      checkClass(pci, gpu, nic);
      checkLink(pci);
      checkBusId(pci, gpu ? "gpu" : nic ? "nic" : "switch");
    }
  }

 private:
  void add(Severity severity, const char* rule, topology::ElementId at, std::string found, std::string fix) {
    findings_.add(severity, rule, document_[at].line, std::move(found), std::move(fix));
  }

  void checkHolds(topology::ElementId pci, bool gpu, bool nic) {
    int gpus = 0, switches = 0;
    for (const topology::ElementId child : document_[pci].children) {
      if (document_[child].name == "gpu" && !isPart(document_, child, rules_) && ++gpus > 1)
        add(Severity::kError, "two-devices", child, "a second gpu in one pci element",
            rules_.readsMultiRank ? "give every gpu a pci element with its own bus id, or several ranks "
                                    "NCCL_MULTI_RANK_GPU_ENABLE=1"
                                  : "give every gpu a pci element with its own bus id");
      if (document_[child].name == "pci") ++switches;
    }
    if (gpu && nic)
      add(Severity::kError, "two-devices", pci, "a pci element with both a gpu and a nic",
          "give each a pci element with its own bus id");
    if ((gpu || nic) && switches > 0)
      add(Severity::kError, "device-as-switch", pci,
          fmt::format("pci elements inside of the pci of a {}: they are left out", gpu ? "gpu" : "nic"),
          "put a switch around them: <pci busid=\"…\" class=\"0x060400\">");
    if (!gpu && !nic && switches == 0 && document_.attribute(pci, "class") != nullptr &&
        topology::pciClass(document_.text(pci, "class")) == topology::PciClass::kPci)
      add(Severity::kWarning, "empty-switch", pci, "a switch without anything below it",
          "put the devices into it that are below it, or remove it");
  }

  void checkClass(topology::ElementId pci, bool gpu, bool nic) {
    const std::string* code = document_.attribute(pci, "class");
    if (code == nullptr) {
      if (!gpu && !nic)
        add(Severity::kError, "missing-attribute", pci, "pci without `class`, and without gpu or nic",
            "write class=\"0x060400\" for a switch");
      return;
    }
    const topology::PciClass kind = topology::pciClass(*code);
    if ((gpu && kind != topology::PciClass::kGpu) || (nic && kind != topology::PciClass::kNic))
      add(Severity::kWarning, "class", pci,
          fmt::format("class=\"{}\" on the pci of a {}", *code, gpu ? "gpu" : "nic"),
          gpu ? "write class=\"0x030200\"" : "write class=\"0x020000\"");
    if (!gpu && !nic && kind != topology::PciClass::kPci)
      add(Severity::kError, "class", pci,
          fmt::format("pci with class=\"{}\" and neither gpu nor nic: it is left out, with all it holds",
                      *code),
          "write class=\"0x060400\" for a switch, or put the gpu or nic element into it");
  }

  void checkLink(topology::ElementId pci) {
    const std::string speed = document_.text(pci, "link_speed");
    const std::string width = document_.text(pci, "link_width");
    if (speed.empty() || width.empty() || width == "0") {
      add(Severity::kNote, "link-defaults", pci,
          fmt::format("no link_{}: it counts as {}", speed.empty() ? "speed" : "width",
                      speed.empty() ? "8 GT/s, generation 3" : "16 lanes"),
          "write both, as `lspci -vv` has them in LnkSta: link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"");
    }
    const bool known =
        std::any_of(std::begin(topology::kPciLaneSpeeds), std::end(topology::kPciLaneSpeeds),
                    [&](const topology::PciLaneSpeed& lane) { return speed.starts_with(lane.prefix); });
    if (!speed.empty() && !known)
      add(Severity::kWarning, "link-speed", pci,
          fmt::format("link_speed=\"{}\": it counts as 8 GT/s, generation 3", speed),
          "write 2.5, 5.0, 8.0, 16.0, 32.0 or 64.0, then ` GT/s PCIe`");
    const auto lanes = numberOf(document_, pci, "link_width");
    if (!lanes || *lanes == 0) return;
    if (std::find(kWidths.begin(), kWidths.end(), *lanes) == kWidths.end())
      add(Severity::kWarning, "link-width", pci,
          fmt::format("link_width=\"{}\": no PCI link has that", *lanes), "write 1, 2, 4, 8 or 16");
    else if (*lanes > kMaxCardWidth)
      add(Severity::kWarning, "link-width", pci,
          fmt::format("link_width=\"{}\": slots have at most 16", *lanes), "write 16, or what the card has");
  }

  void checkBusId(topology::ElementId pci, const std::string& kind) {
    const std::string* text = document_.attribute(pci, "busid");
    const auto id = text == nullptr ? std::nullopt : topology::parseBusId(*text);
    if (!id) return;
    if (!isFullBusId(*text))
      add(Severity::kWarning, "busid", pci,
          fmt::format("busid=\"{}\": it counts as {}", *text, topology::busIdText(*id)),
          "write domain, bus, device and function: 0000:1b:00.0");
    else if (text->find_first_of("ABCDEF") != std::string::npos)
      add(Severity::kWarning, "busid", pci,
          fmt::format("busid=\"{}\" in capitals: NCCL does not find the device", *text),
          fmt::format("write {}", topology::busIdText(*id)));
    // The hosts of one file may use the same bus ids.
    const topology::ElementId cpu = holderOf(document_, pci, "cpu");
    const std::string host = cpu == topology::kNoElement ? "" : document_.text(cpu, "host_hash");
    const auto [first, isNew] = known_.emplace(std::pair(host, *id), std::pair(pci, kind));
    if (isNew) return;
    const auto& [other, otherKind] = first->second;
    const bool cards = kind == "nic" && otherKind == "nic";
    add(kind == otherKind && !cards ? Severity::kError : Severity::kWarning, "duplicate-busid", pci,
        fmt::format("busid=\"{}\" a second time, of a {} (first in line {}, of a {})", *text, kind,
                    document_[other].line, otherKind),
        cards ? "put both ports into one nic, or give each card its own bus id"
              : "give every device its own");
  }

  const topology::Document& document_;
  const rules::RuleSet& rules_;
  Findings& findings_;
  // By host and bus id: the first pci element with this id, and its kind.
  std::map<std::pair<std::string, std::uint64_t>, std::pair<topology::ElementId, std::string>> known_;
};

}  // namespace

void checkPci(const topology::Document& document, const rules::RuleSet& rules, Findings& findings) {
  PciCheck(document, rules, findings).check();
}

}  // namespace xylem::lint
