#include "insight/whatif/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/spelling.h"
#include "planner/topology/attributes.h"

namespace xylem::whatif {
namespace {

// How many devices of a kind an error message lists.
constexpr std::size_t kMaxDevicesListed = 16;

std::int64_t numberOf(const topology::Document& document, topology::ElementId element, const char* name) {
  return std::strtoll(document.text(element, name).c_str(), nullptr, 0);
}

// The number that follows one of the words, if the text has that form.
std::optional<std::int64_t> numberAfter(const std::string& text,
                                        std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (!text.starts_with(word) || text.size() == word.size() || text.size() > word.size() + 9) continue;
    const std::string rest = text.substr(word.size());
    if (rest == "-1" || rest.find_first_not_of("0123456789") == std::string::npos)
      return std::strtoll(rest.c_str(), nullptr, 10);
  }
  return std::nullopt;
}

}  // namespace

Devices::Devices(const topology::Document& document) : document_(document) {
  collect(document.root());
  std::stable_sort(gpus_.begin(), gpus_.end(), [&](topology::ElementId a, topology::ElementId b) {
    return numberOf(document_, a, "rank") < numberOf(document_, b, "rank");
  });
}

void Devices::collect(topology::ElementId element) {
  const topology::Element& e = document_[element];
  if (e.name == "gpu") gpus_.push_back(element);
  if (e.name == "net") nets_.push_back(element);
  if (e.name == "cpu") cpus_.push_back(element);
  if (e.name == "pci" && document_.child(element, "gpu") == topology::kNoElement &&
      document_.child(element, "nic") == topology::kNoElement)
    switches_.push_back(element);
  for (const topology::ElementId child : e.children) collect(child);
}

topology::ElementId Devices::pciOf(topology::ElementId element) const {
  for (; element != topology::kNoElement; element = document_[element].parent) {
    if (document_[element].name == "pci") return element;
    if (document_[element].name == "cpu") return topology::kNoElement;
  }
  return topology::kNoElement;
}

topology::ElementId Devices::placeOf(topology::ElementId element) const {
  const topology::ElementId pci = pciOf(element);
  if (pci != topology::kNoElement) return document_[pci].parent;
  for (; element != topology::kNoElement; element = document_[element].parent)
    if (document_[element].name == "cpu") return element;
  return topology::kNoElement;
}

std::vector<topology::ElementId> Devices::named(const std::string& word, unsigned kinds,
                                                const std::string& where) const {
  const std::string name = lowerCase(word);
  if (name == "gpus" && (kinds & kGpu) != 0 && !gpus_.empty()) return gpus_;
  if (name == "nets" && (kinds & kNet) != 0 && !nets_.empty()) return nets_;
  if (name == "switches" && (kinds & kSwitch) != 0 && !switches_.empty()) return switches_;
  const auto bus = name.find(':') == std::string::npos ? std::nullopt : topology::parseBusId(name);
  const auto hasBus = [&](topology::ElementId pci) {
    return bus && pci != topology::kNoElement && topology::parseBusId(document_.text(pci, "busid")) == bus;
  };
  if ((kinds & kGpu) != 0) {
    const auto rank = numberAfter(name, {"gpu", "rank"});
    const auto dev = numberAfter(name, {"dev"});
    for (const topology::ElementId gpu : gpus_)
      if ((rank && numberOf(document_, gpu, "rank") == *rank) ||
          (dev && numberOf(document_, gpu, "dev") == *dev) || hasBus(pciOf(gpu)))
        return {gpu};
  }
  if ((kinds & kNet) != 0) {
    for (const topology::ElementId net : nets_)
      if (lowerCase(document_.text(net, "name")) == name) return {net};
    const auto dev = numberAfter(name, {"net", "nic"});
    std::vector<topology::ElementId> found;  // a card may have several ports
    for (const topology::ElementId net : nets_)
      if ((dev && document_.attribute(net, "dev") != nullptr && numberOf(document_, net, "dev") == *dev) ||
          hasBus(pciOf(net)))
        found.push_back(net);
    if (!found.empty()) return found;
  }
  if ((kinds & kSwitch) != 0)
    for (const topology::ElementId pci : switches_)
      if (hasBus(pci)) return {pci};
  if (const auto numa = numberAfter(name, {"numa", "cpu"}); numa && (kinds & kNuma) != 0)
    for (const topology::ElementId cpu : cpus_)
      if (numberOf(document_, cpu, "numaid") == *numa) return {cpu};
  throw InputError(
      {where, 0}, fmt::format("`{}`", word), listText(kinds) + [&] {
        std::vector<std::string> names;
        for (const topology::ElementId net : nets_) names.push_back(lowerCase(document_.text(net, "name")));
        const std::string nearest = nearestWord(name, names);
        return nearest.empty() || (kinds & kNet) == 0 ? std::string()
                                                      : fmt::format("; did you mean {}?", nearest);
      }());
}

std::string Devices::listText(unsigned kinds) const {
  std::string text;
  const auto add = [&](const std::vector<topology::ElementId>& elements, const char* none) {
    std::string list;
    for (std::size_t i = 0; i < elements.size() && i < kMaxDevicesListed; ++i) {
      list += (i == 0 ? "" : ", ") + wordFor(elements[i]);
      const std::string name = document_.text(elements[i], "name");
      if (document_[elements[i]].name == "net" && !name.empty()) list += fmt::format(" ({})", name);
    }
    if (elements.size() > kMaxDevicesListed)
      list += fmt::format(" and {} more", elements.size() - kMaxDevicesListed);
    text += (text.empty() ? "" : "; ") + (list.empty() ? none : list);
  };
  if ((kinds & kGpu) != 0) add(gpus_, "no GPU: there is none");
  if ((kinds & kNet) != 0) add(nets_, "no NET: there is none");
  if ((kinds & kSwitch) != 0) add(switches_, "no switch: there is none");
  if ((kinds & kNuma) != 0) add(cpus_, "no CPU: there is none");
  return text;
}

std::string Devices::wordFor(topology::ElementId element) const {
  const std::string& name = document_[element].name;
  if (name == "gpu") return "gpu" + document_.text(element, "rank");
  if (name == "cpu") return "numa" + document_.text(element, "numaid");
  if (name == "net") {
    const std::string dev = document_.text(element, "dev");
    return dev.empty() ? document_.text(element, "name") : "net" + dev;
  }
  return document_.text(element, "busid");
}

}  // namespace xylem::whatif
