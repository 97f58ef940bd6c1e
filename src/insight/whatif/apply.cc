// Applies edits to a document and settings.
#include "insight/whatif/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/edit_distance.h"
#include "core/error.h"
#include "planner/topology/attributes.h"
#include "insight/whatif/devices.h"

namespace xylem {
namespace {

constexpr const char* kNvswitchTarget = "fffffff:ffff:ff";
constexpr const char* kGpuClass = "0x030200";
constexpr const char* kSwitchClass = "0x068000";

// Applies one edit. Elements that move are copied to their new place, and the old ones detached.
class Applier {
 public:
  Applier(Edited& state, const Edit& edit)
      : document_(state.document),
        settings_(state.settings),
        edit_(edit),
        devices_(state.document),
        where_(fmt::format("edit `{}`", edit.text)) {}

  void apply() {
    switch (edit_.kind) {
      case EditKind::kRemove:
        return remove();
      case EditKind::kNvlink:
        return nvlink();
      case EditKind::kMove:
        return move();
      case EditKind::kWidth:
        return setLink("link_width", std::to_string(edit_.number));
      case EditKind::kSpeed:
        return setLink("link_speed", edit_.value);
      case EditKind::kGdr:
        for (const ElementId device : named(edit_.device, Devices::kGpu | Devices::kNet))
          document_.set(device, "gdr", std::to_string(edit_.number));
        return;
      case EditKind::kNetSpeed:
        for (const ElementId net : named(edit_.device, Devices::kNet))
          document_.set(net, "speed", std::to_string(edit_.number));
        return;
      case EditKind::kGuid:
        return giveGuids();
      case EditKind::kSet:
        settings_.set(variable(), edit_.value, where_);
        return;
      case EditKind::kUnset:
        return unset();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError({where_, 0}, found, expected);
  }

  std::vector<ElementId> named(const std::string& word, unsigned kinds) const {
    return devices_.named(word, kinds, where_);
  }

  std::string textOf(ElementId element, const char* name) const {
    const std::string* text = document_.attribute(element, name);
    return text == nullptr ? "" : *text;
  }

  const SettingSpec& variable() const {
    if (const SettingSpec* spec = findSetting(edit_.device)) return *spec;
    std::vector<std::string> names;
    for (const SettingSpec& spec : settingSpecs()) names.emplace_back(spec.name);
    const std::string nearest = nearestWord(edit_.device, names);
    fail(fmt::format("`{}`", edit_.device),
         nearest.empty() ? "a variable that `xylem settings` lists"
                         : fmt::format("a variable that `xylem settings` lists, as {}", nearest));
  }

  void unset() {
    const Setting id = variable().id;
    Settings others;
    for (const SettingSpec& spec : settingSpecs())
      if (spec.id != id && settings_.isSet(spec.id))
        others.set(spec, settings_.text(spec.id), settings_.origin(spec.id));
    settings_ = std::move(others);
  }

  void remove() {
    for (const ElementId device :
         named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch | Devices::kNuma)) {
      const std::string& name = document_[device].name;
      const ElementId holder = name == "net" ? document_[device].parent : kNoElement;
      document_.detach(name == "gpu" ? devices_.pciOf(device) : device);
      if (holder == kNoElement || document_.child(holder, "net") != kNoElement) continue;
      const ElementId parent = document_[holder].parent;  // a card without ports is removed, too
      document_.detach(parent != kNoElement && document_[parent].name == "pci" ? parent : holder);
    }
    closeRanks();
  }

  // Numbers the ranks anew without gaps; the GPUs that are left keep their order.
  void closeRanks() {
    const Devices left(document_);
    if (left.gpus().empty()) fail("no GPU left", "one GPU or more");
    int rank = 0;
    for (const ElementId gpu : left.gpus()) document_.set(gpu, "rank", std::to_string(rank++));
  }

  void nvlink() {
    const std::vector<ElementId> gpus = named(edit_.device, Devices::kGpu);
    if (edit_.other == "nvswitch") {
      for (const ElementId gpu : gpus) linkTo(gpu, nullptr);
      return;
    }
    const std::vector<ElementId> others = named(edit_.other, Devices::kGpu);
    const bool all = edit_.device == "gpus" || edit_.other == "gpus";
    if (gpus == others && !all) fail("a GPU twice", "two GPUs");
    for (const ElementId a : gpus)
      for (const ElementId b : others) {
        if (a == b) continue;
        const std::string busA = textOf(devices_.pciOf(a), "busid");
        const std::string busB = textOf(devices_.pciOf(b), "busid");
        linkTo(a, &busB);
        linkTo(b, &busA);
      }
  }

  // Returns whether the link leads to the GPU with the bus id `target`, or, if that is null, to the NVSwitch.
  bool leadsTo(ElementId link, const std::string* target) const {
    if (document_[link].name != "nvlink") return false;
    const PciClass kind = pciClass(textOf(link, "tclass"));
    if (target == nullptr) return kind != PciClass::kGpu && kind != PciClass::kCpu;
    return kind == PciClass::kGpu && parseBusId(textOf(link, "target")) == parseBusId(*target);
  }

  void linkTo(ElementId gpu, const std::string* target) {
    std::vector<ElementId> links;
    for (const ElementId link : document_[gpu].children)
      if (leadsTo(link, target)) links.push_back(link);
    // The links to one end may stand in several elements. Then the first one gets the number.
    for (std::size_t i = edit_.number > 0 ? 1 : 0; i < links.size(); ++i) document_.detach(links[i]);
    if (edit_.number == 0) return;
    const ElementId link = links.empty() ? document_.add(gpu, "nvlink") : links.front();
    document_.setIfAbsent(link, "target", target == nullptr ? kNvswitchTarget : *target);
    document_.set(link, "count", std::to_string(edit_.number));
    document_.setIfAbsent(link, "tclass", target == nullptr ? kSwitchClass : kGpuClass);
  }

  void move() {
    const std::vector<ElementId> moved =
        named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch);
    std::vector<ElementId> places;
    if (edit_.to == MoveTo::kNuma) {
      places = named(edit_.other, Devices::kNuma);
    } else if (edit_.to == MoveTo::kSwitch) {
      places = named(edit_.other, Devices::kSwitch);
    } else {
      for (const ElementId device : named(edit_.other, Devices::kGpu | Devices::kNet))
        places.push_back(devices_.placeOf(device));
    }
    // Several devices are spread evenly over several places, in order. The ports of a card stay together.
    std::map<ElementId, ElementId> done;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const ElementId place = places[i * places.size() / moved.size()];
      const ElementId pci = devices_.pciOf(moved[i]);
      if (pci != kNoElement && !done.emplace(pci, place).second) continue;
      moveOne(moved[i], pci, place);
    }
  }

  void moveOne(ElementId device, ElementId pci, ElementId place) {
    if (!isThere(device)) return;  // it moved with the switch that holds it
    for (ElementId up = place; up != kNoElement; up = document_[up].parent)
      if (up == pci) fail("a switch into itself", "a place outside of it");
    if (pci != kNoElement) {
      if (document_[pci].parent == place) return;
      copyBelow(pci, place, positionOf(place, textOf(pci, "busid")));
      document_.detach(pci);
      return;
    }
    // A port directly at a CPU has no pci element: it gets one.
    const ElementId nic = document_[device].parent;
    const ElementId card = document_.add(place, "pci", document_[nic].line, positionOf(place, unusedBusId()));
    document_.set(card, "busid", unusedBusId());
    document_.set(card, "class", "0x020000");
    const bool isSwitch = document_[place].name == "pci";
    for (const char* key : {"link_speed", "link_width"})
      document_.set(card, key, isSwitch ? textOf(place, key) : "");
    const ElementId newNic = document_.add(card, "nic", document_[nic].line);
    copyBelow(device, newNic);
    document_.detach(device);
    if (document_.child(nic, "net") == kNoElement) document_.detach(nic);
  }

  // Returns whether the element is still in the document, not detached.
  bool isThere(ElementId element) const {
    while (document_[element].parent != kNoElement) element = document_[element].parent;
    return element == document_.root();
  }

  // The position of a pci element among its siblings, which stand in the order of their bus ids, as in
  // detected machines: NCCL settles ties by the order.
  std::size_t positionOf(ElementId parent, const std::string& busId) const {
    const auto& siblings = document_[parent].children;
    for (std::size_t i = 0; i < siblings.size(); ++i)
      if (document_[siblings[i]].name == "pci" && textOf(siblings[i], "busid") > busId) return i;
    return siblings.size();
  }

  void copyBelow(ElementId from, ElementId parent, std::size_t position = SIZE_MAX) {
    const ElementId to = document_.add(parent, document_[from].name, document_[from].line, position);
    const auto attributes = document_[from].attributes;
    for (const auto& [key, value] : attributes) document_.set(to, key, value);
    const std::vector<ElementId> children = document_[from].children;
    for (const ElementId child : children) copyBelow(child, to);
  }

  std::string unusedBusId() const {
    std::set<std::uint64_t> used;
    const auto note = [&](const auto& self, ElementId element) -> void {
      if (const auto id = parseBusId(textOf(element, "busid"))) used.insert(*id);
      for (const ElementId child : document_[element].children) self(self, child);
    };
    note(note, document_.root());
    std::uint64_t id = std::uint64_t{0xfffe} << 20;
    while (used.contains(id)) id += 0x10;
    return busIdText(id);
  }

  void setLink(const char* key, const std::string& value) {
    for (const ElementId device : named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch)) {
      const ElementId pci = devices_.pciOf(device);
      if (pci == kNoElement)
        fail(fmt::format("{}, which has no PCI link", edit_.device), "a device in a pci element");
      document_.set(pci, key, value);
    }
  }

  void giveGuids() {
    constexpr std::uint64_t kFirst = 0xffff000000000000;
    std::uint64_t next = kFirst;
    std::set<std::uint64_t> used;
    for (const ElementId net : devices_.nets())
      if (document_.attribute(net, "guid") != nullptr) used.insert(Attributes(document_, net).hex("guid"));
    for (const ElementId net : named(edit_.device, Devices::kNet)) {
      while (!used.insert(next).second) ++next;
      document_.set(net, "guid", fmt::format("{:#x}", next));
    }
  }

  Document& document_;
  Settings& settings_;
  const Edit& edit_;
  const Devices devices_;
  const std::string where_;
};

}  // namespace

Edited applyEdits(Edited start, std::span<const Edit> edits) {
  for (const Edit& edit : edits) Applier(start, edit).apply();
  return start;
}

}  // namespace xylem
