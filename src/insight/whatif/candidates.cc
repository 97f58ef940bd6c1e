// Makes the candidates of a repair: every change that might help this machine, as an edit with its
// description.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "insight/whatif/devices.h"
#include "insight/whatif/pairing.h"
#include "insight/whatif/repair.h"
#include "planner/topology/attributes.h"
#include "planner/topology/bandwidths.h"

namespace xylem::whatif {
namespace {

struct VariableRow {
  Setting id;
  const char* value;
  const char* what;
};
// Values that help on some machine. Values that only hide a problem (fewer protocols, no P2P) are left out.
constexpr VariableRow kVariables[] = {
    {Setting::kNetGdrLevel, "SYS", "GPU Direct RDMA over any distance"},
    {Setting::kNetGdrLevel, "PHB", "GPU Direct RDMA below one CPU"},
    {Setting::kNetGdrRead, "1", "GPU Direct RDMA when sending, too"},
    {Setting::kP2pLevel, "SYS", "direct access between GPUs over any distance"},
    {Setting::kP2pLevel, "PHB", "direct access between GPUs of one CPU"},
    {Setting::kCrossNic, "0", "rings keep to one NIC per host"},
    {Setting::kCrossNic, "1", "rings may leave by another NIC than they entered by"},
    {Setting::kPxnDisable, "0", "NICs are reached through other GPUs"},
    {Setting::kPxnDisable, "1", "NICs are never reached through other GPUs"},
    {Setting::kNvbDisable, "1", "no relay through another GPU's NVLinks"},
    {Setting::kMinNChannels, "16", "16 channels or more"},
    {Setting::kMinNChannels, "32", "32 channels or more"},
    {Setting::kAlgo, "Ring", "rings only"},
    {Setting::kAlgo, "Tree", "trees only"},
};

class Maker {
 public:
  Maker(const topology::Document& host, const Settings& settings, const search::GraphOptions& offered)
      : host_(host), settings_(settings), offered_(offered), devices_(host) {}

  std::vector<RepairCandidate> make() {
    addVariables();
    addGdr(devices_.nets(), "nets", "load nvidia-peermem, or a driver and kernel with DMA-BUF");
    addGdr(devices_.gpus(), "gpus", "use GPUs and a driver that support GPU Direct RDMA");
    addGuids();
    addMoves();
    addLinks(devices_.gpus(), "gpus");
    addLinks(devices_.nets(), "nets");
    addLinks(devices_.switches(), "switches");
    addNetSpeeds();
    addNvlinks();
    addCpuLinks();
    return std::move(list_);
  }

 private:
  void add(std::string edit, std::string what, std::string todo, int devices) {
    list_.push_back({std::move(edit), std::move(what), std::move(todo), devices});
  }

  std::string textOf(topology::ElementId element, const char* name) const {
    const std::string* text = host_.attribute(element, name);
    return text == nullptr ? "" : *text;
  }

  void addVariables() {
    for (const VariableRow& row : kVariables) {
      const char* name = spec(row.id).name;
      if (settings_.isSet(row.id) && settings_.text(row.id) == row.value) continue;
      if (!settings_.isSet(row.id) && std::string_view(spec(row.id).fallback) == row.value) continue;
      add(fmt::format("set {}={}", name, row.value), row.what, "set it for all ranks", 0);
    }
    if (offered_.nvls && settings_.isSet(Setting::kNvlsEnable) &&
        settings_.integer(Setting::kNvlsEnable) == 0)
      add("set NCCL_NVLS_ENABLE=1", "NVLink multicast", "set it for all ranks", 0);
    for (const SettingSpec& s : settingSpecs())
      if (settings_.isSet(s.id) && std::string_view(s.name).starts_with("NCCL_"))
        add(fmt::format("unset {}", s.name), fmt::format("without {}", s.name),
            fmt::format("remove it where it is set: {}", settings_.origin(s.id)), 0);
  }

  void addGdr(const std::vector<topology::ElementId>& devices, const char* all, const char* todo) {
    int off = 0;
    for (const topology::ElementId device : devices) {
      if (std::strtol(textOf(device, "gdr").c_str(), nullptr, 0) != 0) continue;
      ++off;
      const std::string word = devices_.wordFor(device);
      add(fmt::format("gdr {} on", word), fmt::format("GPU Direct RDMA with {}", word), todo, 1);
    }
    if (off > 1)
      add(fmt::format("gdr {} on", all), fmt::format("GPU Direct RDMA with all {} {}", off, all), todo, off);
  }

  // Ports of different cards with the same guid and port, which NCCL takes for one.
  void addGuids() {
    std::map<std::pair<std::string, std::string>, std::set<topology::ElementId>> cards;
    for (const topology::ElementId net : devices_.nets())
      if (!textOf(net, "guid").empty())
        cards[{textOf(net, "guid"), textOf(net, "port")}].insert(host_[net].parent);
    int shared = 0;
    for (const auto& [guid, own] : cards)
      if (own.size() > 1) shared += static_cast<int>(own.size());
    if (shared > 0)
      add("guid nets own", fmt::format("{} NETs, which share a guid, with one of their own", shared),
          "give every virtual function a GUID of its own on the host", shared);
  }

  // The devices directly below a switch or CPU.
  struct Place {
    int gpus = 0, nets = 0;
    topology::ElementId gpu = topology::kNoElement, net = topology::kNoElement;  // the first of each
  };

  void addMoves() {
    std::map<topology::ElementId, Place> places;
    for (const topology::ElementId gpu : devices_.gpus()) {
      Place& place = places[devices_.placeOf(gpu)];
      if (place.gpus++ == 0) place.gpu = gpu;
    }
    for (const topology::ElementId net : devices_.nets()) {
      Place& place = places[devices_.placeOf(net)];
      if (place.nets++ == 0) place.net = net;
    }
    const char* todo =
        "move the card, or, in a virtual machine, describe where it is: xylem vm, NCCL_TOPO_FILE";
    // Moves each card to the place that has the most GPUs per card.
    for (const topology::ElementId net : devices_.nets()) {
      const topology::ElementId own = devices_.placeOf(net);
      const auto load = [](const Place& p) { return static_cast<double>(p.nets) / std::max(p.gpus, 1); };
      const Place* best = nullptr;
      for (const auto& [at, place] : places)
        if (at != own && place.gpus > 0 && (best == nullptr || load(place) < load(*best))) best = &place;
      if (best == nullptr) continue;
      add(fmt::format("move {} beside {}", devices_.wordFor(net), devices_.wordFor(best->gpu)),
          fmt::format("{} beside {}", devices_.wordFor(net), devices_.wordFor(best->gpu)), todo, 1);
    }
    if (devices_.nets().size() > 1)
      add("move nets beside gpus", fmt::format("all {} NETs beside the GPUs", devices_.nets().size()), todo,
          static_cast<int>(devices_.nets().size()));
    if (isFlat(host_))
      add("pair nets with gpus",
          fmt::format("all {} NETs and {} GPUs in groups below switches", devices_.nets().size(),
                      devices_.gpus().size()),
          "in a virtual machine, describe the switches that the host has: xylem vm FILE --pair auto, "
          "NCCL_TOPO_FILE",
          static_cast<int>(devices_.nets().size()));
    // Moves each GPU without a card beside it to the place with a card that has the fewest GPUs.
    for (const topology::ElementId gpu : devices_.gpus()) {
      if (places[devices_.placeOf(gpu)].nets > 0) continue;
      const Place* best = nullptr;
      for (const auto& [at, place] : places)
        if (place.nets > 0 && (best == nullptr || place.gpus < best->gpus)) best = &place;
      if (best == nullptr) continue;
      add(fmt::format("move {} beside {}", devices_.wordFor(gpu), devices_.wordFor(best->net)),
          fmt::format("{} beside {}", devices_.wordFor(gpu), devices_.wordFor(best->net)), todo, 1);
    }
  }

  static int speedOf(const std::string& text) {
    for (const topology::PciLaneSpeed& lane : topology::kPciLaneSpeeds)
      if (text.starts_with(lane.prefix)) return lane.speed;
    return topology::kPciLaneSpeedDefault;
  }
  static int widthOf(const std::string& text) {
    const int lanes = std::atoi(text.c_str());
    return lanes <= 0 ? topology::kPciLanesDefault : std::min(lanes, topology::kPciLanesDefault);
  }
  static const char* speedName(int speed) {
    const char* name = "8.0";
    for (const topology::PciLaneSpeed& lane : topology::kPciLaneSpeeds)
      if (lane.speed == speed && lane.prefix.ends_with("PCIe")) name = lane.prefix.data();
    return name;
  }

  // Widens or speeds up the PCI links that are below the best one among devices of this kind.
  void addLinks(const std::vector<topology::ElementId>& devices, const char* all) {
    int widest = 0, fastest = 0;
    std::set<topology::ElementId> pcis;
    for (const topology::ElementId device : devices) {
      const topology::ElementId pci = devices_.pciOf(device);
      if (pci == topology::kNoElement || !pcis.insert(pci).second) continue;
      widest = std::max(widest, widthOf(textOf(pci, "link_width")));
      fastest = std::max(fastest, speedOf(textOf(pci, "link_speed")));
    }
    const char* todo = "reseat the card, or see `lspci -vv`, LnkSta: it trained below what it can";
    int narrow = 0, slow = 0;
    pcis.clear();
    for (const topology::ElementId device : devices) {
      const topology::ElementId pci = devices_.pciOf(device);
      if (pci == topology::kNoElement || !pcis.insert(pci).second) continue;
      const std::string word = devices_.wordFor(device);
      if (const int width = widthOf(textOf(pci, "link_width")); width < widest) {
        ++narrow;
        add(fmt::format("width {} x{}", word, widest),
            fmt::format("{} lanes of {}, not {}", widest, word, width), todo, 1);
      }
      if (const int speed = speedOf(textOf(pci, "link_speed")); speed < fastest) {
        ++slow;
        add(fmt::format("speed {} {}", word, speedName(fastest)),
            fmt::format("the link of {} as fast as that of others", word), todo, 1);
      }
    }
    if (narrow > 1)
      add(fmt::format("width {} x{}", all, widest), fmt::format("{} lanes of all {}", widest, all), todo,
          narrow);
    if (slow > 1)
      add(fmt::format("speed {} {}", all, speedName(fastest)), fmt::format("fast links of all {}", all), todo,
          slow);
  }

  // The speed of a port in Mb/s that its description means.
  int meantSpeed(topology::ElementId net) const {
    const int written = std::atoi(textOf(net, "speed").c_str());
    if (written <= 0) return topology::kNetSpeedDefault;
    return written < topology::kNetSpeedLeastLikely ? 1000 * written : written;
  }

  // Makes ports as fast as the fastest one of the host, or as fast as a description in Gb/s means them.
  void addNetSpeeds() {
    int fastest = 0;
    for (const topology::ElementId net : devices_.nets()) fastest = std::max(fastest, meantSpeed(net));
    const std::string speed =
        fastest % 1000 == 0 ? fmt::format("{}G", fastest / 1000) : std::to_string(fastest);
    constexpr const char* kWrite = "write the speed of the port in Mb/s into the file";
    constexpr const char* kLook = "see `ibstat` or `ethtool`: the port runs below what others do";
    int slow = 0, meantSlow = 0;
    for (const topology::ElementId net : devices_.nets()) {
      if (std::atoi(textOf(net, "speed").c_str()) >= fastest) continue;
      const bool isSlow = meantSpeed(net) < fastest;
      ++slow;
      meantSlow += isSlow ? 1 : 0;
      const std::string word = devices_.wordFor(net);
      add(fmt::format("netspeed {} {}", word, speed),
          fmt::format("{:g} Gb/s of {}, as the fastest port", fastest / 1000.0, word),
          isSlow ? kLook : kWrite, 1);
    }
    if (slow > 1)
      add(fmt::format("netspeed nets {}", speed),
          fmt::format("{:g} Gb/s of all {} NETs", fastest / 1000.0, devices_.nets().size()),
          meantSlow > 0 ? kLook : kWrite, slow);
  }

  // Proposes the real link between the sockets of CPUs that NCCL's rule takes for slower ones.
  void addCpuLinks() {
    const topology::FasterCpu* known = nullptr;
    int cpus = 0;
    for (const topology::ElementId cpu : host_[host_.root()].children) {
      if (host_[cpu].name != "cpu") continue;
      ++cpus;
      known = host_.attribute(cpu, "bw") == nullptr ? fasterCpu(cpu) : nullptr;
      if (known == nullptr) return;
    }
    if (cpus > 1)
      add(fmt::format("bandwidth cpus {:g}", known->bandwidth),
          fmt::format("{:g} GB/s between {} sockets, as they have at least", known->bandwidth, known->name),
          fmt::format(
              "measure the link, then give NCCL the channels that follow from it: xylem optimize FILE --link "
              "CPU-CPU={:g} -o graph.xml, NCCL_GRAPH_FILE=graph.xml",
              known->bandwidth),
          0);
  }

  // Null if the rule fits the CPU, or nothing is known of it.
  const topology::FasterCpu* fasterCpu(topology::ElementId cpu) const {
    // NCCL adds the extended family times 16 to 15, the system adds it as it is.
    constexpr long kBaseFamily = 0xf;
    long family = std::strtol(textOf(cpu, "familyid").c_str(), nullptr, 0);
    if (family > 4 * kBaseFamily) family = kBaseFamily + family / 16;
    const long model = std::strtol(textOf(cpu, "modelid").c_str(), nullptr, 0);
    for (const topology::FasterCpu& known : topology::kFasterCpus)
      if (textOf(cpu, "vendor").starts_with("AuthenticAMD") && known.vendor == topology::CpuVendor::kAmd &&
          family == known.family && model >= known.firstModel && model <= known.lastModel)
        return &known;
    return nullptr;
  }

  // Adds NVLinks to the NVSwitch where a GPU has fewer than others.
  void addNvlinks() {
    std::map<topology::ElementId, int> links;
    int max = 0;
    for (const topology::ElementId gpu : devices_.gpus()) {
      for (const topology::ElementId link : host_[gpu].children) {
        const topology::PciClass kind = topology::pciClass(textOf(link, "tclass"));
        if (host_[link].name == "nvlink" && kind != topology::PciClass::kGpu &&
            kind != topology::PciClass::kCpu)
          links[gpu] += std::atoi(textOf(link, "count").c_str());
      }
      max = std::max(max, links[gpu]);
    }
    for (const topology::ElementId gpu : devices_.gpus())
      if (links[gpu] < max)
        add(fmt::format("nvlink {} nvswitch x{}", devices_.wordFor(gpu), max),
            fmt::format("{} NVLinks of {}, not {}", max, devices_.wordFor(gpu), links[gpu]),
            "see `nvidia-smi nvlink -s`: links are down", 1);
  }

  const topology::Document& host_;
  const Settings& settings_;
  const search::GraphOptions& offered_;
  const Devices devices_;
  std::vector<RepairCandidate> list_;
};

}  // namespace

std::vector<RepairCandidate> repairCandidates(const topology::Document& host, const Settings& settings,
                                              const search::GraphOptions& offered) {
  return Maker(host, settings, offered).make();
}

}  // namespace xylem::whatif
