// Applies edits to a document and settings.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/error.h"
#include "insight/whatif/devices.h"
#include "insight/whatif/edit.h"
#include "insight/whatif/pairing.h"
#include "planner/topology/attributes.h"

namespace xylem::whatif {
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
      case EditKind::kPair:
        return pair();
      case EditKind::kAddSwitch:
        for (const topology::ElementId device :
             named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch))
          makeSwitch({device});
        return;
      case EditKind::kWidth:
        return setLink("link_width", std::to_string(edit_.number));
      case EditKind::kSpeed:
        return setLink("link_speed", edit_.value);
      case EditKind::kBandwidth:
        return setBandwidth();
      case EditKind::kGdr:
        for (const topology::ElementId device : named(edit_.device, Devices::kGpu | Devices::kNet))
          document_.set(device, "gdr", std::to_string(edit_.number));
        return;
      case EditKind::kNetSpeed:
        for (const topology::ElementId net : named(edit_.device, Devices::kNet))
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

  std::vector<topology::ElementId> named(const std::string& word, unsigned kinds) const {
    return devices_.named(word, kinds, where_);
  }

  std::string textOf(topology::ElementId element, const char* name) const {
    const std::string* text = document_.attribute(element, name);
    return text == nullptr ? "" : *text;
  }

  const SettingSpec& variable() const {
    if (const SettingSpec* spec = findSetting(edit_.device)) return *spec;
    fail(fmt::format("`{}`, which {}", edit_.device, aboutUnknownVariable(edit_.device)),
         "a variable that `xylem settings` lists");
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
    for (const topology::ElementId device :
         named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch | Devices::kNuma)) {
      const std::string& name = document_[device].name;
      const topology::ElementId holder = name == "net" ? document_[device].parent : topology::kNoElement;
      document_.detach(name == "gpu" ? devices_.pciOf(device) : device);
      if (holder == topology::kNoElement || document_.child(holder, "net") != topology::kNoElement) continue;
      const topology::ElementId parent = document_[holder].parent;  // a card without ports is removed, too
      document_.detach(parent != topology::kNoElement && document_[parent].name == "pci" ? parent : holder);
    }
    closeRanks();
  }

  // Numbers the ranks anew without gaps; the GPUs that are left keep their order.
  void closeRanks() {
    const Devices left(document_);
    if (left.gpus().empty()) fail("no GPU left", "one GPU or more");
    int rank = 0;
    for (const topology::ElementId gpu : left.gpus()) document_.set(gpu, "rank", std::to_string(rank++));
  }

  void nvlink() {
    const std::vector<topology::ElementId> gpus = named(edit_.device, Devices::kGpu);
    if (edit_.other == "nvswitch") {
      for (const topology::ElementId gpu : gpus) linkTo(gpu, nullptr);
      return;
    }
    const std::vector<topology::ElementId> others = named(edit_.other, Devices::kGpu);
    const bool all = edit_.device == "gpus" || edit_.other == "gpus";
    if (gpus == others && !all) fail("a GPU twice", "two GPUs");
    for (const topology::ElementId a : gpus)
      for (const topology::ElementId b : others) {
        if (a == b) continue;
        const std::string busA = textOf(devices_.pciOf(a), "busid");
        const std::string busB = textOf(devices_.pciOf(b), "busid");
        linkTo(a, &busB);
        linkTo(b, &busA);
      }
  }

  // Returns whether the link leads to the GPU with the bus id `target`, or, if that is null, to the NVSwitch.
  bool leadsTo(topology::ElementId link, const std::string* target) const {
    if (document_[link].name != "nvlink") return false;
    const topology::PciClass kind = topology::pciClass(textOf(link, "tclass"));
    if (target == nullptr) return kind != topology::PciClass::kGpu && kind != topology::PciClass::kCpu;
    return kind == topology::PciClass::kGpu &&
           topology::parseBusId(textOf(link, "target")) == topology::parseBusId(*target);
  }

  void linkTo(topology::ElementId gpu, const std::string* target) {
    std::vector<topology::ElementId> links;
    for (const topology::ElementId link : document_[gpu].children)
      if (leadsTo(link, target)) links.push_back(link);
    // The links to one end may stand in several elements. Then the first one gets the number.
    for (std::size_t i = edit_.number > 0 ? 1 : 0; i < links.size(); ++i) document_.detach(links[i]);
    if (edit_.number == 0) return;
    const topology::ElementId link = links.empty() ? document_.add(gpu, "nvlink") : links.front();
    document_.setIfAbsent(link, "target", target == nullptr ? kNvswitchTarget : *target);
    document_.set(link, "count", std::to_string(edit_.number));
    document_.setIfAbsent(link, "tclass", target == nullptr ? kSwitchClass : kGpuClass);
  }

  void move() {
    const std::vector<topology::ElementId> moved =
        named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch);
    std::vector<topology::ElementId> places;
    if (edit_.to == MoveTo::kNuma) {
      places = named(edit_.other, Devices::kNuma);
    } else if (edit_.to == MoveTo::kSwitch) {
      places = named(edit_.other, Devices::kSwitch);
    } else {
      for (const topology::ElementId device : named(edit_.other, Devices::kGpu | Devices::kNet))
        places.push_back(devices_.placeOf(device));
    }
    // Several devices are spread evenly over several places, in order. The ports of a card stay together.
    std::map<topology::ElementId, topology::ElementId> done;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const topology::ElementId place = places[i * places.size() / moved.size()];
      const topology::ElementId pci = devices_.pciOf(moved[i]);
      if (pci != topology::kNoElement && !done.emplace(pci, place).second) continue;
      moveOne(moved[i], pci, place);
    }
  }

  void moveOne(topology::ElementId device, topology::ElementId pci, topology::ElementId place) {
    if (!isThere(device)) return;  // it moved with the switch that holds it
    for (topology::ElementId up = place; up != topology::kNoElement; up = document_[up].parent)
      if (up == pci) fail("a switch into itself", "a place outside of it");
    if (pci != topology::kNoElement) {
      if (document_[pci].parent == place) return;
      copyBelow(pci, place, positionOf(place, textOf(pci, "busid")));
      document_.detach(pci);
      return;
    }
    // A port directly at a CPU has no pci element: it gets one.
    const topology::ElementId nic = document_[device].parent;
    const topology::ElementId card =
        document_.add(place, "pci", document_[nic].line, positionOf(place, unusedBusId()));
    document_.set(card, "busid", unusedBusId());
    document_.set(card, "class", "0x020000");
    const bool isSwitch = document_[place].name == "pci";
    for (const char* key : {"link_speed", "link_width"})
      document_.set(card, key, isSwitch ? textOf(place, key) : "");
    const topology::ElementId newNic = document_.add(card, "nic", document_[nic].line);
    copyBelow(device, newNic);
    document_.detach(device);
    if (document_.child(nic, "net") == topology::kNoElement) document_.detach(nic);
  }

  // Puts each group of devices below a switch of its own, where its first GPU is.
  void pair() {
    constexpr unsigned kDevices = Devices::kGpu | Devices::kNet;
    std::vector<topology::ElementId> gpus;
    std::vector<topology::ElementId> nets;
    for (const std::string& word : {edit_.device, edit_.other})
      for (const topology::ElementId device : named(word, kDevices))
        (document_[device].name == "gpu" ? gpus : nets).push_back(device);
    if (gpus.empty() || nets.empty())
      fail("devices of one kind", "a GPU and a NET, or `pair nets with gpus`");
    for (const PairedGroup& group : pairedGroups(document_, gpus, nets)) {
      std::vector<topology::ElementId> devices = group.gpus;
      devices.insert(devices.end(), group.nets.begin(), group.nets.end());
      makeSwitch(devices);
    }
  }

  // Makes a switch where the first device is, as fast as its link, and moves the devices below it.
  void makeSwitch(const std::vector<topology::ElementId>& devices) {
    const topology::ElementId first = devices_.pciOf(devices.front());
    if (first == topology::kNoElement) fail("a device directly at a CPU", "a device in a pci element");
    const topology::ElementId place = document_[first].parent;
    const std::string busId = unusedBusId();
    const topology::ElementId made =
        document_.add(place, "pci", document_[first].line, positionOf(place, textOf(first, "busid")));
    document_.set(made, "busid", busId);
    document_.set(made, "class", "0x060400");
    for (const char* key : {"link_speed", "link_width"}) document_.set(made, key, textOf(first, key));
    std::set<topology::ElementId> done;  // the ports of a card move together
    for (const topology::ElementId device : devices) {
      const topology::ElementId pci = devices_.pciOf(device);
      if (pci == topology::kNoElement || done.insert(pci).second) moveOne(device, pci, made);
    }
  }

  // Returns whether the element is still in the document, not detached.
  bool isThere(topology::ElementId element) const {
    while (document_[element].parent != topology::kNoElement) element = document_[element].parent;
    return element == document_.root();
  }

  // The position of a pci element among its siblings, which stand in the order of their bus ids, as in
  // detected machines: NCCL settles ties by the order.
  std::size_t positionOf(topology::ElementId parent, const std::string& busId) const {
    const auto& siblings = document_[parent].children;
    for (std::size_t i = 0; i < siblings.size(); ++i)
      if (document_[siblings[i]].name == "pci" && textOf(siblings[i], "busid") > busId) return i;
    return siblings.size();
  }

  void copyBelow(topology::ElementId from, topology::ElementId parent, std::size_t position = SIZE_MAX) {
    const topology::ElementId to =
        document_.add(parent, document_[from].name, document_[from].line, position);
    const auto attributes = document_[from].attributes;
    for (const auto& [key, value] : attributes) document_.set(to, key, value);
    const std::vector<topology::ElementId> children = document_[from].children;
    for (const topology::ElementId child : children) copyBelow(child, to);
  }

  std::string unusedBusId() const {
    std::set<std::uint64_t> used;
    const auto note = [&](const auto& self, topology::ElementId element) -> void {
      if (const auto id = topology::parseBusId(textOf(element, "busid"))) used.insert(*id);
      for (const topology::ElementId child : document_[element].children) self(self, child);
    };
    note(note, document_.root());
    std::uint64_t id = std::uint64_t{0xfffe} << 20;
    while (used.contains(id)) id += 0x10;
    return topology::busIdText(id);
  }

  void setLink(const char* key, const std::string& value) {
    for (const topology::ElementId device :
         named(edit_.device, Devices::kGpu | Devices::kNet | Devices::kSwitch)) {
      const topology::ElementId pci = devices_.pciOf(device);
      if (pci == topology::kNoElement)
        fail(fmt::format("{}, which has no PCI link", edit_.device), "a device in a pci element");
      document_.set(pci, key, value);
    }
  }

  void setBandwidth() {
    if (edit_.device == "cpus") {
      int cpus = 0;
      for (const topology::ElementId cpu : document_[document_.root()].children) {
        if (document_[cpu].name != "cpu") continue;
        document_.set(cpu, "bw", edit_.value);
        ++cpus;
      }
      if (cpus < 2) fail("one CPU", "a machine of two or more");
      return;
    }
    setLink("bw", edit_.value);
  }

  void giveGuids() {
    constexpr std::uint64_t kFirst = 0xffff000000000000;
    std::uint64_t next = kFirst;
    std::set<std::uint64_t> used;
    for (const topology::ElementId net : devices_.nets())
      if (document_.attribute(net, "guid") != nullptr)
        used.insert(topology::Attributes(document_, net).hex("guid"));
    for (const topology::ElementId net : named(edit_.device, Devices::kNet)) {
      while (!used.insert(next).second) ++next;
      document_.set(net, "guid", fmt::format("{:#x}", next));
    }
  }

  topology::Document& document_;
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

}  // namespace xylem::whatif
