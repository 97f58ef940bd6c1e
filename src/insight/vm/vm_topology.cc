// Builds the virtual machine's document: finds the host's pci element for each device of the map, marks all
// elements above it, and copies what is marked from the top down. Links are copied with the host's bus ids at
// first; their targets are translated at the end, when all new bus ids are known.
#include "insight/vm/vm_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/edit_distance.h"
#include "core/error.h"
#include "planner/topology/attributes.h"
#include "planner/topology/complete.h"

namespace xylem::vm {
namespace {

constexpr const char* kNvswitchTarget = "fffffff:ffff:ff";

class VmBuilder {
 public:
  VmBuilder(const topology::Document& host, const VmMap& map, std::vector<std::string>* remarks)
      : host_(host), map_(map), remarks_(remarks) {
    vm_.setIfAbsent(vm_.root(), "version", "1");
    for (const VmDevice& device : map.devices) usedIds_.insert(device.busId);
  }

  topology::Document build() {
    noteDevices(host_.root());
    for (const VmDevice& device : map_.devices) find(device);
    checkOneHost();
    numberGpus();
    for (const topology::ElementId cpu : host_[host_.root()].children) {
      if (host_[cpu].name != "cpu" || !isWanted(cpu)) continue;
      const topology::ElementId to = vm_.add(vm_.root(), "cpu");
      copyCpu(cpu, to);
      for (const topology::ElementId child : host_[cpu].children)
        if (host_[child].name == "pci" && isWanted(child)) copyPci(child, to);
    }
    resolveTargets();
    for (const VmNuma& numa : map_.numas)
      if (!usedNumas_.contains(numa.host))
        remark(fmt::format("none of the guest's devices is on NUMA node {} of the host: {}:{} is not used",
                           numa.host, map_.file, numa.line));
    return std::move(vm_);
  }

 private:
  void remark(std::string text) {
    if (remarks_ != nullptr) remarks_->push_back(std::move(text));
  }

  // Collects the names by which lines of the map may call the host's devices.
  void noteDevices(topology::ElementId element) {
    const topology::Element& e = host_[element];
    if (e.name == "gpu" || e.name == "net") {
      topology::ElementId pci = e.parent;
      while (pci != topology::kNoElement && host_[pci].name != "pci") pci = host_[pci].parent;
      const auto id = pci == topology::kNoElement ? std::nullopt : topology::parseBusId(textOf(pci, "busid"));
      if (id) byId_[*id] = pci;
      if (e.name == "net" && host_.attribute(element, "name") != nullptr)
        byName_.emplace(textOf(element, "name"), id ? pci : topology::kNoElement);
      if (e.name == "gpu") byName_.emplace("gpu" + textOf(element, "dev"), pci);
    }
    for (const topology::ElementId child : e.children) noteDevices(child);
  }

  std::string textOf(topology::ElementId element, const char* name) const {
    const std::string* text = host_.attribute(element, name);
    return text == nullptr ? "" : *text;
  }

  // Finds the device's pci element, and marks it and all elements above it as wanted.
  void find(const VmDevice& device) {
    topology::ElementId pci = topology::kNoElement;
    if (const auto known = byName_.find(device.host); known != byName_.end()) {
      pci = known->second;
      if (pci == topology::kNoElement)
        throw InputError({map_.file, device.line}, fmt::format("{}, which has no bus id", device.host),
                         "a device that stands in a pci element");
    } else if (device.host.find(':') != std::string::npos) {
      const auto id = topology::parseBusId(device.host);
      if (const auto found = id ? byId_.find(*id) : byId_.end(); found != byId_.end()) pci = found->second;
    }
    if (pci == topology::kNoElement)
      throw InputError({map_.file, device.line},
                       isSwitch(device.host)
                           ? fmt::format("{}, which is neither a GPU nor a network device", device.host)
                           : fmt::format("`{}`, which {} does not have", device.host, host_.file()),
                       isSwitch(device.host) ? "GPUs and network devices: the switches above them follow"
                                             : expected(device.host));
    const auto [first, isNew] = wanted_.emplace(pci, &device);
    if (!isNew)
      throw InputError({map_.file, device.line},
                       fmt::format("`{}`, which line {} has already", device.host, first->second->line),
                       "every device of the host once");
    for (topology::ElementId up = pci; up != topology::kNoElement; up = host_[up].parent) ways_.insert(up);
    noteNames(pci, device);
  }

  // Returns whether the text is the bus id of any pci element of the host. The caller knows that the element
  // holds no device.
  bool isSwitch(const std::string& text) const {
    const auto id = text.find(':') == std::string::npos ? std::nullopt : topology::parseBusId(text);
    const auto named = [&](const auto& self, topology::ElementId element) -> bool {
      return (host_[element].name == "pci" && topology::parseBusId(textOf(element, "busid")) == id) ||
             std::any_of(host_[element].children.begin(), host_[element].children.end(),
                         [&](topology::ElementId child) { return self(self, child); });
    };
    return id && named(named, host_.root());
  }

  std::string expected(const std::string& word) const {
    std::vector<std::string> names;
    for (const auto& [name, pci] : byName_) names.push_back(name);
    for (const auto& [id, pci] : byId_) names.push_back(topology::busIdText(id));
    const std::string nearest = nearestWord(word, names);
    constexpr std::size_t kMaxListed = 24;
    std::string text = fmt::format(
        "{}",
        fmt::join(names.begin(),
                  names.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxListed, names.size())), ", "));
    if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
    if (names.empty()) text = "a host with gpu or net elements";
    return nearest.empty() ? text : fmt::format("{}; did you mean {}?", text, nearest);
  }

  // Checks the name that the map gives the device, and adds a remark for a network device that keeps the
  // host's.
  void noteNames(topology::ElementId pci, const VmDevice& device) {
    const topology::ElementId nic = host_.child(pci, "nic");
    if (nic == topology::kNoElement) {
      if (!device.name.empty())
        throw InputError({map_.file, device.line}, fmt::format("the name {} for a GPU", device.name),
                         "names of network devices only");
      return;
    }
    int nets = 0;
    for (const topology::ElementId net : host_[nic].children) {
      if (host_[net].name != "net") continue;
      ++nets;
      if (device.name.empty() && host_.attribute(net, "name") != nullptr)
        remark(fmt::format(
            "net {} keeps its name: NCCL finds a card by it first; if the guest calls it otherwise, "
            "write that as third word in {}:{}",
            textOf(net, "name"), map_.file, device.line));
    }
    if (!device.name.empty() && nets > 1)
      throw InputError({map_.file, device.line}, fmt::format("one name for a card with {} ports", nets),
                       "no name: the ports keep theirs");
  }

  bool isWanted(topology::ElementId element) const { return ways_.contains(element); }

  void checkOneHost() const {
    const VmDevice* first = nullptr;
    std::string hash;
    for (const auto& [pci, device] : wanted_) {
      topology::ElementId cpu = pci;
      while (cpu != topology::kNoElement && host_[cpu].name != "cpu") cpu = host_[cpu].parent;
      const std::string own = cpu == topology::kNoElement ? "" : textOf(cpu, "host_hash");
      if (first == nullptr) {
        first = device;
        hash = own;
      } else if (own != hash) {
        throw InputError({map_.file, device->line},
                         fmt::format("{}, which is not on the host of {}", device->host, first->host),
                         "devices of one host");
      }
    }
  }

  // Numbers the GPUs by their bus ids inside, as the driver does, and the NETs in the host's order.
  void numberGpus() {
    std::map<std::uint64_t, topology::ElementId> gpus;
    std::map<std::int64_t, topology::ElementId> nets;
    for (const auto& [pci, device] : wanted_) {
      if (const topology::ElementId gpu = host_.child(pci, "gpu"); gpu != topology::kNoElement)
        gpus[device->busId] = gpu;
      if (const topology::ElementId nic = host_.child(pci, "nic"); nic != topology::kNoElement)
        for (const topology::ElementId net : host_[nic].children)
          if (host_[net].name == "net" && host_.attribute(net, "dev") != nullptr)
            nets[topology::Attributes(host_, net).integer("dev", 0, INT32_MAX)] = net;
    }
    if (gpus.empty())
      throw InputError({map_.file, 0}, "no GPU among the devices", "at least one GPU of the host");
    int next = 0;
    for (const auto& [id, gpu] : gpus) number_[gpu] = next++;
    next = 0;
    for (const auto& [dev, net] : nets) number_[net] = next++;
  }

  void copyAttributes(topology::ElementId from, topology::ElementId to) {
    for (const auto& [key, value] : host_[from].attributes)
      if (key != "keep" && key != "rank" && key != "host_hash") vm_.set(to, key, value);
  }

  void copyCpu(topology::ElementId from, topology::ElementId to) {
    copyAttributes(from, to);
    vm_.removeAttribute(to, "affinity");
    const int host = static_cast<int>(topology::Attributes(host_, from).integer("numaid", -1, INT32_MAX));
    for (const VmNuma& numa : map_.numas) {
      if (numa.host != host) continue;
      usedNumas_.insert(host);
      vm_.set(to, "numaid", std::to_string(numa.inside));
      if (!numa.affinity.empty()) vm_.set(to, "affinity", numa.affinity);
      return;
    }
    const auto taken = [&](int number) {
      return std::any_of(map_.numas.begin(), map_.numas.end(),
                         [&](const VmNuma& numa) { return numa.inside == number; });
    };
    while (taken(nextNuma_)) ++nextNuma_;
    vm_.set(to, "numaid", std::to_string(nextNuma_++));
  }

  // A bus id for a switch that no device inside has, from ffff:ff:00.0 on.
  std::uint64_t madeUpId() {
    constexpr std::uint64_t kDomain = std::uint64_t{0xffff} << 20;
    constexpr std::uint64_t kBuses = 256, kDevices = 32;
    while (true) {
      const std::uint64_t bus = (kBuses - 1 - madeUp_ / kDevices) % kBuses;
      const std::uint64_t id = kDomain | (bus << 12) | ((madeUp_ % kDevices) << 4);
      if (++madeUp_ > kBuses * kDevices)
        throw Error(ResultCode::kInvalidArgument, "{}: more than {} switches above the guest's devices",
                    host_.file(), kBuses * kDevices);
      if (usedIds_.insert(id).second) return id;
    }
  }

  void copyPci(topology::ElementId from, topology::ElementId parent) {
    const auto device = wanted_.find(from);
    const std::uint64_t id = device != wanted_.end() ? device->second->busId : madeUpId();
    const topology::ElementId to = vm_.add(parent, "pci");
    vm_.set(to, "busid", topology::busIdText(id));
    for (const auto& [key, value] : host_[from].attributes)
      if (key != "busid") vm_.set(to, key, value);
    newIds_[topology::Attributes(host_, from).busId("busid")] = id;
    for (const topology::ElementId child : host_[from].children) {
      const std::string& name = host_[child].name;
      if (name == "pci" && isWanted(child)) copyPci(child, to);
      if (name == "gpu" && device != wanted_.end()) copyGpu(child, to);
      if (name == "nic" && device != wanted_.end()) copyNic(child, to, *device->second);
      if (name == "pcilink") copyLink(child, to);
    }
  }

  topology::ElementId copyLink(topology::ElementId from, topology::ElementId parent) {
    const topology::ElementId to = vm_.add(parent, host_[from].name);
    copyAttributes(from, to);
    if (host_[from].name != "c2c") pending_.push_back({from, to});
    return to;
  }

  void copyGpu(topology::ElementId from, topology::ElementId pci) {
    const topology::ElementId to = vm_.add(pci, "gpu");
    vm_.set(to, "dev", std::to_string(number_.at(from)));
    copyAttributes(from, to);
    vm_.set(to, "dev", std::to_string(number_.at(from)));
    vm_.set(to, "rank", std::to_string(number_.at(from)));
    for (const topology::ElementId link : host_[from].children) copyLink(link, to);
  }

  void copyNic(topology::ElementId from, topology::ElementId pci, const VmDevice& device) {
    const topology::ElementId nic = vm_.add(pci, "nic");
    copyAttributes(from, nic);
    for (const topology::ElementId net : host_[from].children) {
      if (host_[net].name != "net") continue;
      const topology::ElementId to = vm_.add(nic, "net");
      copyAttributes(net, to);
      if (const auto number = number_.find(net); number != number_.end())
        vm_.set(to, "dev", std::to_string(number->second));
      if (!device.name.empty()) vm_.set(to, "name", device.name);
    }
  }

  // Translates the targets of links to bus ids inside, and removes links to devices that are not inside.
  void resolveTargets() {
    for (const auto& [from, to] : pending_) {
      const bool nvlink = host_[from].name == "nvlink";
      const topology::PciClass kind =
          nvlink ? topology::pciClass(textOf(from, "tclass")) : topology::PciClass::kPci;
      if (nvlink && kind == topology::PciClass::kCpu) continue;
      const auto id = topology::parseBusId(textOf(from, "target"));
      const auto known = id ? newIds_.find(*id) : newIds_.end();
      if (nvlink && kind != topology::PciClass::kGpu) {
        vm_.set(to, "target", kNvswitchTarget);
      } else if (known == newIds_.end()) {
        vm_.detach(to);
      } else {
        vm_.set(to, "target", topology::busIdText(known->second));
      }
    }
  }

  const topology::Document& host_;
  const VmMap& map_;
  std::vector<std::string>* remarks_;
  topology::Document vm_{"(guest)"};
  std::map<std::uint64_t, topology::ElementId> byId_;  // the pci elements of the host's devices
  std::map<std::string, topology::ElementId> byName_;  // the same; kNoElement: the device stands in no pci
  std::map<topology::ElementId, const VmDevice*> wanted_;
  std::set<topology::ElementId> ways_;             // the elements that hold a wanted device
  std::map<topology::ElementId, int> number_;      // `dev` inside, by gpu or net element of the host
  std::map<std::uint64_t, std::uint64_t> newIds_;  // bus ids inside, by those on the host
  std::set<std::uint64_t> usedIds_;
  std::vector<std::pair<topology::ElementId, topology::ElementId>>
      pending_;              // links: of the host, and their copies
  std::set<int> usedNumas_;  // of the host, that lines of the map number
  int nextNuma_ = 0;
  std::uint64_t madeUp_ = 0;
};

}  // namespace

topology::Document vmTopology(const topology::Document& host, const VmMap& map,
                              std::vector<std::string>* remarks) {
  const topology::Document complete = topology::completeAttributes(host);
  return VmBuilder(complete, map, remarks).build();
}

}  // namespace xylem::vm
