#include "planner/topology/system_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "planner/topology/attributes.h"
#include "planner/topology/bandwidths.h"
#include "planner/topology/graph_assembler.h"

namespace xylem::topology {
namespace {

using Handle = GraphAssembler::Handle;
using HalfLink = GraphAssembler::HalfLink;
constexpr Handle kNone = GraphAssembler::kNone;

// Broadcom's PCI switches by their device word (vendor, device, subsystem) without the lowest 12 bits.
constexpr std::uint64_t kFamilyMask = ~0xfffull;
constexpr std::uint64_t kGeneration4 = 0x1000c0101000a000;
constexpr std::uint64_t kGeneration5 = 0x1000c03010000000;
constexpr std::uint64_t kGeneration5Level = 0x1000;
// Marks a flattened switch, so that it does not match again.
constexpr std::uint64_t kFlattened = 0xffff;

// The generation of a Broadcom switch of this level, 4 or 5; 0 for another device. Generation 4 does not tell
// the levels apart.
int generation(std::uint64_t device, int level) {
  const std::uint64_t family = device & kFamilyMask;
  if (family == kGeneration4) return 4;
  if (family == (kGeneration5 | (static_cast<std::uint64_t>(level) * kGeneration5Level))) return 5;
  return 0;
}

// Moves the links of `sub`, except the one to `parent`, to `parent` and removes `sub`.
void absorb(GraphAssembler& graph, Handle parent, Handle sub) {
  for (const HalfLink& link : graph.links(sub)) {
    if (link.to == parent) continue;
    graph.links(parent).push_back(link);
    auto& back = graph.links(link.to);
    const auto up = std::find_if(back.begin(), back.end(), [&](const HalfLink& l) { return l.to == sub; });
    if (up != back.end()) up->to = parent;
  }
  graph.remove(sub);
}

// Makes one node of the first two-level Broadcom switch; returns false if there is none. The switches of the
// inner level are an artefact of how the chip is built.
bool flattenFirst(GraphAssembler& graph) {
  for (Handle parent : graph.nodes(NodeType::kPci)) {
    const int gen = generation(graph.pci(parent).device, 0);
    if (gen == 0) continue;
    std::vector<Handle> subs;
    std::erase_if(graph.links(parent), [&](const HalfLink& link) {
      const bool inner =
          graph.type(link.to) == NodeType::kPci && generation(graph.pci(link.to).device, 1) == gen;
      if (inner) subs.push_back(link.to);
      return inner;
    });
    for (Handle sub : subs) absorb(graph, parent, sub);
    graph.pci(parent).device |= kFlattened;
    return true;
  }
  return false;
}

void flattenBroadcomSwitches(GraphAssembler& graph) {
  while (flattenFirst(graph)) {
  }
}

// Limits of the numbers in a description. They are far above any machine's and keep sums from overflowing.
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxLanes = 1 << 16;
constexpr std::int64_t kMaxLinks = 1 << 16;
constexpr std::int64_t kMaxMbps = 1'000'000'000;
constexpr int kMaxHosts = 256;           // the host part of a node's key has 8 bits
constexpr int kMaxRanksOfGpu = 1 << 15;  // a rank's place has 15 bits of its id, above its device's 40
constexpr std::size_t kMaxCpus = 4096;   // every pair of a host's CPUs is linked

struct Word {
  std::string_view text;
  int value;
};

// The value of the first word that is a prefix of the text, or 0.
int byPrefix(std::string_view text, std::initializer_list<Word> words) {
  for (const Word& word : words)
    if (text.starts_with(word.text)) return word.value;
  return 0;
}

// Builds the graph in NCCL's order, since the order of nodes and links decides ties later: first the tree of
// CPUs and PCI devices with their nets, then the links across it (NVLinks, chip-to-chip links, direct lanes
// between switches), then the links between CPUs.
class SystemBuilder {
 public:
  SystemBuilder(const Document& document, std::shared_ptr<const rules::RuleSet> rules)
      : document_(document), rules_(std::move(rules)) {}

  System build() {
    for (ElementId element : document_[document_.root()].children)
      if (document_[element].name == "cpu") addCpu(element);
    for (ElementId element : document_[document_.root()].children) addNvlinks(element, kNone, 0);
    for (ElementId element : document_[document_.root()].children) addC2cs(element, kNone, 0);
    for (ElementId element : document_[document_.root()].children) addPciLinks(element, kNone, 0);
    flattenBroadcomSwitches(graph_);
    connectCpus();
    graph_.sortLinks();
    return graph_.freeze(rules_);
  }

 private:
  // The number of the CPU's host. Hosts count from 0 in the order in which their hashes appear.
  int systemOf(ElementId cpu) {
    const std::uint64_t hash = Attributes(document_, cpu).hex("host_hash", 0);
    const auto [found, isNew] = systems_.emplace(hash, static_cast<int>(systems_.size()));
    if (isNew && found->second >= kMaxHosts)
      Attributes(document_, cpu)
          .fail("a 257th host_hash", fmt::format("at most {} hosts in one description", kMaxHosts));
    return found->second;
  }

  void addCpu(ElementId element) {
    const Attributes attributes(document_, element);
    const int system = systemOf(element);
    const auto numa = static_cast<std::uint64_t>(attributes.integer("numaid", -1, kMaxInt));
    const NodeKey key = NodeKey::of(system, numa);
    if (const Handle other = graph_.find(NodeType::kCpu, key); other != kNone)
      failDuplicate(element, "numaid", other);
    if (graph_.nodes(NodeType::kCpu).size() == kMaxCpus)
      attributes.fail(fmt::format("more than {} cpu elements", kMaxCpus), "one cpu element per NUMA node");
    const Handle cpu = graph_.addCpu(key, element, readCpu(attributes));
    for (ElementId child : document_[element].children) {
      if (document_[child].name == "pci") addPci(child, cpu, system);
      if (document_[child].name == "nic") addNicOfCpu(child, cpu, system);
    }
  }

  Cpu readCpu(const Attributes& attributes) const {
    Cpu cpu;
    if (attributes.has("affinity")) cpu.affinity = attributes.text("affinity");
    cpu.arch = static_cast<CpuArch>(
        byPrefix(attributes.text("arch"), {{"x86_64", static_cast<int>(CpuArch::kX86)},
                                           {"arm64", static_cast<int>(CpuArch::kArm)},
                                           {"ppc64", static_cast<int>(CpuArch::kPower)}}));
    if (cpu.arch != CpuArch::kX86) return cpu;
    constexpr int kZhaoxin = static_cast<int>(CpuVendor::kZhaoxin);
    cpu.vendor = static_cast<CpuVendor>(
        byPrefix(attributes.text("vendor"), {{"GenuineIntel", static_cast<int>(CpuVendor::kIntel)},
                                             {"AuthenticAMD", static_cast<int>(CpuVendor::kAmd)},
                                             {"CentaurHauls", kZhaoxin},
                                             {"  Shanghai  ", kZhaoxin}}));
    if (cpu.vendor != CpuVendor::kIntel && cpu.vendor != CpuVendor::kZhaoxin) return cpu;
    const auto family = attributes.integer("familyid", -kMaxInt, kMaxInt);
    const auto model = attributes.integer("modelid", -kMaxInt, kMaxInt);
    if (cpu.vendor == CpuVendor::kIntel) cpu.model = intelModel(family, model);
    if (cpu.vendor == CpuVendor::kZhaoxin && family == 7 && model == 0x5b) cpu.model = kCpuModelYongfeng;
    return cpu;
  }

  int intelModel(std::int64_t family, std::int64_t model) const {
    if (family != 6 || model < 0x55) return kCpuModelIntelBdw;
    if (!rules_->fourIntelModels || model < 0x8f) return kCpuModelIntelSkl;
    return model < 0xcf ? kCpuModelIntelSrp : kCpuModelIntelErp;
  }

  // Adds a NIC without a PCI device of its own. All such NICs of a host share one node, as in NCCL.
  void addNicOfCpu(ElementId element, Handle cpu, int system) {
    const NodeKey key = NodeKey::of(system, 0);
    Handle nic = graph_.find(NodeType::kNic, key);
    if (nic == kNone) {
      nic = graph_.addPlain(NodeType::kNic, key, element);
      connectBoth(cpu, nic, LinkType::kPci, kLocalBandwidth);
    }
    addNets(element, nic, system);
  }

  void addPci(ElementId element, Handle parent, int system) {
    const Attributes attributes(document_, element);
    const NodeKey key = NodeKey::of(system, attributes.busId("busid"));
    const PciClass type = pciClass(attributes.text("class"));
    const ElementId gpu = document_.child(element, "gpu");
    const ElementId nic = document_.child(element, "nic");
    Handle node = kNone;
    if (!knowsParts() && !rules_->ranksShareGpus) refuseFurtherGpus(element);
    if (gpu != kNoElement && nic != kNoElement)
      attributes.fail("a pci element with both a gpu and a nic", "one device per pci element");
    const auto bandwidth = [&] {
      return bandwidthOf(
          element, static_cast<float>(laneCount(attributes) * laneSpeed(attributes) / kPciLaneUnitsPerGBps));
    };
    if (gpu != kNoElement) {
      if (document_.attribute(gpu, "rank") != nullptr) addGpus(element, key, parent, bandwidth());
      return;
    }
    if (nic != kNoElement) {
      Handle known = graph_.find(NodeType::kNic, key);
      if (known == kNone) known = node = graph_.addPlain(NodeType::kNic, key, nic);
      addNets(nic, known, system);
    } else if (type == PciClass::kPci) {
      node = addSwitch(element, key, system);
    }
    if (node != kNone) connectBoth(node, parent, LinkType::kPci, bandwidth());
  }

  void refuseFurtherGpus(ElementId pci) const {
    int devices = 0;
    for (ElementId child : document_[pci].children)
      if (document_[child].name == "gpu" && ++devices > 1)
        Attributes(document_, child)
            .fail("a second gpu in one pci element",
                  fmt::format("one device per pci element: NCCL {} knows no parts of GPUs{}",
                              rules::versionText(rules_->version), aboutSharing()));
  }

  // Says how several ranks may use one GPU, for an error.
  std::string aboutSharing() const {
    return rules_->readsMultiRank ? ", and several ranks on one only with NCCL_MULTI_RANK_GPU_ENABLE=1" : "";
  }

  // Adds the GPU of a pci element, or its parts (`mlopart`), which are joined inside the device. Parts without a rank end
  // the list. Further ranks on a GPU hang on the first one.
  void addGpus(ElementId pci, NodeKey device, Handle parent, float bandwidth) {
    constexpr std::uint64_t kPartBits = 3;
    if (knowsParts() && (device.local() & kPartBits) != 0)
      Attributes(document_, pci)
          .fail(fmt::format("a gpu at function {} of its device", device.local() & 0xf),
                fmt::format("function 0 or 4 etc.: NCCL {} numbers the parts of a GPU by the lowest bits",
                            rules::versionText(rules_->version)));
    for (ElementId gpu : document_[pci].children) {
      if (document_[gpu].name != "gpu") continue;
      if (document_.attribute(gpu, "rank") == nullptr) return;
      const NodeKey key = partKey(device, partOf(gpu));
      if (mayShare(gpu) && graph_.find(NodeType::kGpu, key) != kNone) {
        addRank(gpu, key, pci);
        continue;
      }
      const std::vector<Handle> others = partsOf(device);
      const Handle node = addGpu(gpu, key, pci);
      connectBoth(node, parent, LinkType::kPci, bandwidth);
      for (const Handle other : others) connectBoth(node, other, LinkType::kLoc, kPartBandwidth);
    }
  }

  // Adds one more rank of a GPU.
  void addRank(ElementId gpu, NodeKey device, ElementId pci) {
    constexpr int kDeviceBits = 40;
    const Handle first = graph_.find(NodeType::kGpu, device);
    int& ranks = ranksOfDevice_.emplace(device.value, 1).first->second;
    if (ranks == kMaxRanksOfGpu)
      Attributes(document_, gpu).fail("one more rank on a GPU", fmt::format("at most {}", kMaxRanksOfGpu));
    const auto place = static_cast<std::uint64_t>(ranks++);
    const NodeKey key = NodeKey::of(device.system(), place << kDeviceBits | device.local());
    const Handle node = addGpu(gpu, key, pci, static_cast<int>(place));
    connectBoth(first, node, LinkType::kLoc, kLocalBandwidth);
  }

  // Returns whether the rules know parts of GPUs, be they devices of their own or not.
  bool knowsParts() const { return rules_->splitGpus || rules_->partsShareGpus; }
  // Returns whether an element may be one more rank on a GPU.
  bool mayShare(ElementId gpu) const {
    return rules_->ranksShareGpus || (rules_->partsShareGpus && numberOfPart(gpu) >= 0);
  }
  int numberOfPart(ElementId gpu) const {
    const int last = rules_->splitGpus ? 1 : kMaxRanksOfGpu;
    return static_cast<int>(Attributes(document_, gpu).integer("mlopart", -1, last, -1));
  }
  // The part that a gpu element is, as a device of its own, or -1 for a whole device.
  int partOf(ElementId gpu) const { return rules_->splitGpus ? numberOfPart(gpu) : -1; }
  static NodeKey partKey(NodeKey device, int part) {
    return part < 0 ? device : NodeKey{device.value | (static_cast<std::uint64_t>(part) << 1 | 1)};
  }
  // The GPUs of a device: itself, or its parts.
  std::vector<Handle> partsOf(NodeKey device) const {
    std::vector<Handle> found;
    for (const int part : {-1, 0, 1})
      if (const Handle gpu = graph_.find(NodeType::kGpu, partKey(device, part)); gpu != kNone)
        found.push_back(gpu);
    return found;
  }

  Handle addGpu(ElementId element, NodeKey key, ElementId pci, int place = 0) {
    if (const Handle other = graph_.find(NodeType::kGpu, key); other != kNone) {
      if (document_[graph_.element(other)].parent != pci || !rules_->readsMultiRank)
        failDuplicate(pci, "busid", other);
      Attributes(document_, element)
          .fail(fmt::format("a second rank on the GPU of line {}", document_[graph_.element(other)].line),
                "one rank on every GPU; NCCL_MULTI_RANK_GPU_ENABLE=1 allows several");
    }
    const Attributes attributes(document_, element);
    Gpu gpu;
    gpu.dev = static_cast<int>(attributes.integer("dev", -1, kMaxInt));
    gpu.rank = static_cast<int>(attributes.integer("rank", 0, kMaxInt));
    gpu.sm = static_cast<int>(attributes.integer("sm", 0, 10000));
    gpu.gdr = attributes.integer("gdr", 0, kMaxInt) != 0;
    gpu.part = knowsParts() ? numberOfPart(element) : -1;
    gpu.place = place;
    if (rules_->logsDevices) gpu.device = deviceWord(Attributes(document_, pci));
    gpu.hostDevice = attributes.integer("host", 0, 1, 0) != 0;
    const auto [first, isNew] = gpuOfRank_.emplace(gpu.rank, element);
    if (!isNew)
      attributes.fail(fmt::format("a second gpu with rank {} (the first is in line {})", gpu.rank,
                                  document_[first->second].line),
                      "every rank on one gpu");
    return graph_.addGpu(key, element, gpu);
  }

  Handle addSwitch(ElementId element, NodeKey key, int system) {
    if (const Handle other = graph_.find(NodeType::kPci, key); other != kNone)
      failDuplicate(element, "busid", other);
    const Handle node = graph_.addPci(key, element, {deviceWord(Attributes(document_, element))});
    for (ElementId child : document_[element].children)
      if (document_[child].name == "pci") addPci(child, node, system);
    return node;
  }

  static std::uint64_t deviceWord(const Attributes& pci) {
    std::uint64_t word = 0;
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
      word = (word << 16) + pci.hex(part, 0);
    return word;
  }

  static int laneCount(const Attributes& attributes) {
    const auto lanes = static_cast<int>(attributes.integer("link_width", 0, kMaxLanes));
    return lanes == 0 ? kPciLanesDefault : lanes;
  }

  static int laneSpeed(const Attributes& attributes) {
    const std::string& text = attributes.text("link_speed");
    for (const PciLaneSpeed& lane : kPciLaneSpeeds)
      if (text.starts_with(lane.prefix)) return lane.speed;
    return kPciLaneSpeedDefault;
  }

  void addNets(ElementId nic, Handle node, int system) {
    for (ElementId child : document_[nic].children)
      if (document_[child].name == "net" && document_.attribute(child, "dev") != nullptr)
        addNet(child, node, system);
  }

  void addNet(ElementId element, Handle nic, int system) {
    const Attributes attributes(document_, element);
    Net net;
    net.dev = static_cast<int>(attributes.integer("dev", 0, kMaxInt));
    if (attributes.has("name")) net.name = attributes.text("name");
    std::int64_t speed = attributes.integer("speed", -kMaxInt, kMaxMbps, 0);
    if (speed <= 0) speed = kNetSpeedDefault;
    net.bandwidth = static_cast<float>(static_cast<double>(speed) / kNetMbpsPerGBps);
    net.latency = attributes.number("latency", 0);
    net.port = static_cast<int>(attributes.integer("port", -kMaxInt, kMaxInt, 0));
    net.maxConnections = static_cast<int>(attributes.integer("maxconn", -kMaxInt, kMaxInt, 64));
    net.gdr = attributes.integer("gdr", 0, kMaxInt, 0) != 0;
    net.coll = attributes.integer("coll", 0, kMaxInt, 0) != 0;
    net.rail = static_cast<int>(attributes.integer("rail", -1, kMaxInt, -1));
    net.plane = static_cast<int>(attributes.integer("plane", -1, kMaxInt, -1));
    const NodeKey key = NodeKey::of(system, static_cast<std::uint64_t>(net.dev));
    net.asic = asicOf(attributes, key, net);
    if (rules_->railsByHost) net.card = cardOf(element, net);
    const auto offers = [&](const char* ability, std::int64_t byDefault) {
      return attributes.integer(ability, -kMaxInt, kMaxInt, byDefault) != 0;
    };
    if (!rules_->ginNodes || offers("net", 1)) {
      if (const Handle other = graph_.find(NodeType::kNet, key); other != kNone)
        failDuplicate(element, "dev", other);
      connectBoth(nic, graph_.addNet(key, element, net), LinkType::kNet, net.bandwidth);
    }
    if (rules_->ginNodes && offers("gin", 0)) addAbility(NodeType::kGin, element, key, nic, net.bandwidth);
    if (rules_->rmaNodes && offers("rma", 0)) addAbility(NodeType::kRma, element, key, nic, net.bandwidth);
  }

  // Adds a node that is only shown: what a NIC can do besides.
  void addAbility(NodeType type, ElementId element, NodeKey key, Handle nic, float bandwidth) {
    if (const Handle other = graph_.find(type, key); other != kNone) failDuplicate(element, "dev", other);
    connectBoth(nic, graph_.addPlain(type, key, element), LinkType::kNet, bandwidth);
  }

  // NICs with one guid are one piece of hardware. Older rules read it only as `0x…`.
  std::uint64_t asicOf(const Attributes& net, NodeKey key, const Net& facts) const {
    if (rules_->asicIsNode) return net.hex("guid", key.value);
    if (!net.has("guid")) return static_cast<std::uint64_t>(facts.dev);
    const std::uint64_t guid = net.hex("guid");
    return net.text("guid").starts_with("0x") || net.text("guid").starts_with("0X") ? guid : 0;
  }

  std::uint64_t cardOf(ElementId net, const Net& facts) const {
    for (ElementId id = net; id != kNoElement; id = document_[id].parent)
      if (document_[id].name == "pci") return Attributes(document_, id).busId("busid");
    return facts.asic;
  }

  // Calls visit(element, bus, system) for the elements called `wanted` in the subtree; `bus` is the nearest
  // enclosing element with a bus id.
  template <typename Visit>
  void walk(ElementId element, ElementId bus, int system, const char* wanted, const Visit& visit) {
    const Element& e = document_[element];
    if (e.name == "cpu") system = systemOf(element);
    if (document_.attribute(element, "busid") != nullptr) bus = element;
    if (e.name == wanted) return visit(element, bus, system);
    for (ElementId child : e.children) walk(child, bus, system, wanted, visit);
  }

  // The node of `type` that an nvlink, c2c or pcilink element belongs to, or kNone. Among the ranks of a GPU the first one's
  // elements count.
  Handle owner(ElementId element, ElementId bus, int system, NodeType type) const {
    const NodeKey device = deviceOf(element, bus, system);
    const bool shared = type == NodeType::kGpu && (rules_->ranksShareGpus || rules_->partsShareGpus);
    if (shared && !isFirstOfDevice(document_[element].parent, bus)) return kNone;
    return graph_.find(type,
                       type == NodeType::kGpu ? partKey(device, partOf(document_[element].parent)) : device);
  }

  bool isFirstOfDevice(ElementId gpu, ElementId pci) const {
    for (ElementId other : document_[pci].children) {
      if (other == gpu) return true;
      if (document_[other].name == "gpu" && partOf(other) == partOf(gpu)) return false;
    }
    return true;
  }

  NodeKey deviceOf(ElementId element, ElementId bus, int system) const {
    if (bus == kNoElement)
      Attributes(document_, element)
          .fail(document_[element].name + " outside a pci element", "it below its device");
    return NodeKey::of(system, Attributes(document_, bus).busId("busid"));
  }

  void addNvlinks(ElementId element, ElementId bus, int system) {
    walk(element, bus, system, "nvlink", [this](ElementId nvlink, ElementId pci, int host) {
      const Handle gpu = owner(nvlink, pci, host, NodeType::kGpu);
      if (gpu != kNone)
        addNvlink(
            nvlink, gpu, host,
            deviceOf(nvlink, pci, host));  // without a rank the gpu and its links are not part of the job
    });
  }

  // The parts of a device share its NVLinks.
  void addNvlink(ElementId element, Handle gpu, int system, NodeKey device) {
    const Attributes attributes(document_, element);
    const auto count = static_cast<float>(attributes.integer("count", 0, kMaxLinks));
    const auto parts = static_cast<float>(partsOf(device).size());
    const float bandwidth = bandwidthOf(element, count * nvlinkBandwidth(graph_.gpu(gpu).sm, *rules_));
    switch (pciClass(attributes.text("tclass"))) {
      case PciClass::kGpu: {  // only this direction: the peer's own element adds the other one
        const std::vector<Handle> peers = partsOf(NodeKey::of(system, attributes.busId("target")));
        // A link from a GPU to itself stays: descriptions of virtual machines have them, and NCCL counts
        // them.
        for (const Handle peer : peers)
          graph_.connect(gpu, peer, LinkType::kNvl, bandwidth / static_cast<float>(peers.size()) / parts);
        return;
      }
      case PciClass::kCpu: {
        const Handle cpu = localCpu(gpu, kNone);
        if (cpu != kNone) connectBoth(gpu, cpu, LinkType::kNvl, bandwidth / parts);
        return;
      }
      default: {  // one NVSwitch node stands for all of them
        const NodeKey key = NodeKey::of(0, 0);
        Handle nvs = graph_.find(NodeType::kNvs, key);
        if (nvs == kNone) nvs = graph_.addPlain(NodeType::kNvs, key, element);
        connectBoth(gpu, nvs, LinkType::kNvl, bandwidth / parts);
      }
    }
  }

  void addC2cs(ElementId element, ElementId bus, int system) {
    walk(element, bus, system, "c2c", [this](ElementId c2c, ElementId pci, int host) {
      const Handle gpu = owner(c2c, pci, host, NodeType::kGpu);
      if (gpu == kNone) return;
      const Attributes attributes(document_, c2c);
      const auto megabytes = attributes.integer("bw", 0, kMaxMbps);
      const auto count = attributes.integer("count", 0, kMaxLinks);
      const auto bandwidth = static_cast<float>(static_cast<double>(megabytes * count) / kC2cMBpsPerGBps);
      const Handle cpu = localCpu(gpu, kNone);
      // Cores reach their memory as GPUs reach each other, whatever the version: they are no GPUs of NCCL's.
      const bool own = rules_->c2cLinks && !graph_.gpu(gpu).hostDevice;
      if (cpu == kNone) return;
      if (partsOf(deviceOf(c2c, pci, host)).size() > 1)
        return addSharedC2c(c2c, deviceOf(c2c, pci, host), gpu, cpu, bandwidth);
      connectBoth(gpu, cpu, own ? LinkType::kC2c : LinkType::kNvl, bandwidth);
    });
  }

  // The parts of a device share its chip-to-chip link: a node stands for it.
  void addSharedC2c(ElementId element, NodeKey device, Handle part, Handle cpu, float bandwidth) {
    Handle shared = graph_.find(NodeType::kCxb, device);
    if (shared == kNone) {
      shared = graph_.addPlain(NodeType::kCxb, device, element);
      connectBoth(shared, cpu, LinkType::kC2c, bandwidth);
    }
    connectBoth(part, shared, LinkType::kC2c, bandwidth);
  }

  void addPciLinks(ElementId element, ElementId bus, int system) {
    walk(element, bus, system, "pcilink", [this](ElementId pcilink, ElementId pci, int host) {
      const Handle from = owner(pcilink, pci, host, NodeType::kPci);
      const Attributes attributes(document_, pcilink);
      if (from == kNone)
        attributes.fail("a pcilink below a device that is no switch", "it inside a pci switch");
      const Handle to = graph_.find(NodeType::kPci, NodeKey::of(host, attributes.busId("target")));
      if (to == from)
        attributes.fail("a pcilink from a switch to itself", "the bus id of another switch as target");
      if (to != kNone) graph_.connect(from, to, LinkType::kLoc, kLocalBandwidth);
    });
  }

  // The first CPU that a depth-first search over PCI links finds, in link order, or kNone.
  Handle localCpu(Handle node, Handle from) const {
    if (graph_.type(node) == NodeType::kCpu) return node;
    for (const GraphAssembler::HalfLink& link : graph_.links(node)) {
      if (link.type != LinkType::kPci || link.to == from) continue;
      const NodeType type = graph_.type(link.to);
      if (type != NodeType::kPci && type != NodeType::kCpu) continue;
      if (const Handle cpu = localCpu(link.to, node); cpu != kNone) return cpu;
    }
    return kNone;
  }

  void connectCpus() {
    for (Handle from : graph_.nodes(NodeType::kCpu)) {
      const Cpu& cpu = graph_.cpu(from);
      const float bandwidth =
          bandwidthOf(graph_.element(from), interCpuBandwidth(cpu.arch, cpu.vendor, cpu.model));
      for (Handle to : graph_.nodes(NodeType::kCpu))
        if (to != from && graph_.key(to).system() == graph_.key(from).system())
          graph_.connect(from, to, LinkType::kSys, bandwidth);
    }
  }

  // The bandwidth of an element's link: `byRule`, unless the description overrides it.
  float bandwidthOf(ElementId element, float byRule) {
    if (document_.attribute(element, "bw") == nullptr) return byRule;
    const Attributes attributes(document_, element);
    const float bandwidth = attributes.number("bw");
    if (bandwidth <= 0 || bandwidth > kMaxOverride)
      attributes.fail(fmt::format("bw=\"{}\"", attributes.text("bw")),
                      fmt::format("GB/s above 0, at most {}", kMaxOverride));
    graph_.noteOverride({element, bandwidth, byRule});
    return bandwidth;
  }

  void connectBoth(Handle a, Handle b, LinkType type, float bandwidth) {
    graph_.connect(a, b, type, bandwidth);
    graph_.connect(b, a, type, bandwidth);
  }

  [[noreturn]] void failDuplicate(ElementId element, const char* attribute, Handle other) const {
    const Attributes attributes(document_, element);
    attributes.fail(fmt::format("{} with {}=\"{}\" a second time (first in line {})", document_[element].name,
                                attribute, attributes.text(attribute), document_[graph_.element(other)].line),
                    fmt::format("a {} of its own for every {}", attribute, document_[element].name));
  }

  const Document& document_;
  std::shared_ptr<const rules::RuleSet> rules_;
  GraphAssembler graph_;
  std::unordered_map<std::uint64_t, int> systems_;
  std::unordered_map<int, ElementId> gpuOfRank_;
  std::unordered_map<std::uint64_t, int> ranksOfDevice_;  // of devices with several
};

}  // namespace

System buildSystem(const Document& document, std::shared_ptr<const rules::RuleSet> rules) {
  return SystemBuilder(document, std::move(rules)).build();
}

}  // namespace xylem::topology
