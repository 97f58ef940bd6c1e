#pragma once
// The machine as a graph: nodes joined by directed links that carry a bandwidth.
//
//   System system = buildSystem(document, rules);
//   for (NodeId gpu : system.nodes(NodeType::kGpu))
//     for (const Link& link : system.links(gpu)) ... link.to, link.type, link.bandwidth ...
//
// A System never changes once it is built. Nodes and links are numbered: a NodeId counts nodes type by type
// (all GPUs first, then PCI switches, …), a LinkId counts links node by node. The order of the nodes of a
// type and of the links of a node decides ties in later stages. Bandwidths are in GB/s (1e9 bytes per
// second).

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/index_range.h"
#include "planner/rules/changes.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// The numbers are the order of the node arrays, which is NCCL's. kGin and kRma: what a NIC can do besides, by the rules of newer
// versions; nothing plans with them. kCxb: the chip-to-chip link that the parts of a GPU share. kDev: the device of a GPU that the graph's job does not
// use, where the rules keep it.
enum class NodeType : std::uint8_t { kGpu, kPci, kNvs, kCpu, kNic, kNet, kGin, kRma, kCxb, kDev };
constexpr int kNodeTypes = 10;
// The types of nodes that have a part in plans.
inline constexpr std::array kAllNodeTypes = {NodeType::kGpu, NodeType::kPci, NodeType::kNvs,
                                             NodeType::kCpu, NodeType::kNic, NodeType::kNet};

// The numbers are those of the path types (paths/path_table.h) that a link alone makes. kC2c: a chip-to-chip link, if the
// rules tell it from an NVLink.
enum class LinkType : std::uint8_t { kLoc = 0, kNvl = 1, kC2c = 3, kPci = 4, kSys = 9, kNet = 10 };

enum class CpuArch : std::int8_t {
  kUndefined = -1,
  kUnknown = 0,
  kX86 = 1,
  kPower = 2,
  kArm = 3,
  kMixed = 4
};
enum class CpuVendor : std::int8_t {
  kUndefined = -1,
  kUnknown = 0,
  kIntel = 1,
  kAmd = 2,
  kZhaoxin = 3,
  kMixed = 4
};
// The CPU models that have their own bandwidths. A number can mean different models of different vendors, as
// in NCCL.
constexpr int kCpuModelUndefined = -1;
constexpr int kCpuModelIntelBdw = 1;
constexpr int kCpuModelIntelSkl = 2;
constexpr int kCpuModelIntelSrp = 3;
constexpr int kCpuModelIntelErp = 4;
constexpr int kCpuModelYongfeng = 1;

const char* name(NodeType type);
const char* name(LinkType type);
const char* name(CpuArch arch);
const char* name(CpuVendor vendor);

using NodeId = std::int32_t;
using LinkId = std::int32_t;
constexpr NodeId kNoNode = -1;
constexpr LinkId kNoLink = -1;

// A node's identity: its host in the upper 8 bits, below it the bus id, NUMA id or device number.
struct NodeKey {
  std::uint64_t value = 0;

  static NodeKey of(int system, std::uint64_t local) {
    return {(static_cast<std::uint64_t>(system) << 56) + (local & kLocalMask)};
  }
  int system() const { return static_cast<int>(value >> 56); }
  std::uint64_t local() const { return value & kLocalMask; }
  bool operator==(const NodeKey&) const = default;

  static constexpr std::uint64_t kLocalMask = 0x00ffffffffffffff;
};

struct Gpu {
  int dev = -1;   // NVML index
  int rank = -1;  // within the job's first host
  int sm = -1;    // compute capability, major*10+minor
  bool gdr = false;
  std::uint64_t device = 0;  // as in Pci; 0 unless logs show it
  int part = -1;             // of a device that is several GPUs (`mlopart`); -1: the GPU is the whole device
  int place = 0;             // among the ranks of one device; the first stands for the device, with its wires
  bool hostDevice = false;   // CPU cores that compute, with their NUMA node's memory (detect.h)
};
struct Pci {
  std::uint64_t device = 0;  // vendor, device, subsystem vendor, subsystem device: 16 bits each
};
struct Cpu {
  CpuArch arch = CpuArch::kUndefined;
  CpuVendor vendor = CpuVendor::kUndefined;
  int model = kCpuModelUndefined;
  std::string affinity;
  bool is(CpuArch a, CpuVendor v) const { return arch == a && vendor == v; }
};
// The name of a card's data-direct device ends with this, as NCCL's InfiniBand transport has it.
constexpr const char* kDataDirectSuffix = "_dma";
struct Net {
  std::string name;
  int dev = 0;
  std::uint64_t asic = 0;  // id of the hardware: nets with the same id share its bandwidth
  int port = 0;
  float bandwidth = 0;  // GB/s
  float latency = 0;    // microseconds
  bool gdr = false;
  bool coll = false;
  int maxConnections = 0;
  std::uint64_t card = 0;     // if rails are by host: equal for NICs on PCI devices of one bus id
  int rail = -1, plane = -1;  // of the network; -1 if the description names none
};

struct Link {
  NodeId from = kNoNode;
  NodeId to = kNoNode;
  LinkType type = LinkType::kLoc;
  float bandwidth = 0;  // GB/s
};

// A bandwidth that the description gives in place of the rule's (link_override.h).
struct LinkOverride {
  ElementId element = kNoElement;
  float bandwidth = 0, byRule = 0;  // GB/s
};

struct Node {
  NodeType type = NodeType::kGpu;
  NodeKey key;
  ElementId element = kNoElement;  // the element of the description that it comes from
};

class System {
 public:
  int count(NodeType type) const { return first_[index(type) + 1] - first_[index(type)]; }
  int nodeCount() const { return first_[kNodeTypes]; }
  NodeId node(NodeType type, int i) const { return first_[index(type)] + i; }
  IndexRange nodes(NodeType type) const { return IndexRange(first_[index(type)], first_[index(type) + 1]); }
  const Node& operator[](NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  NodeType type(NodeId id) const { return (*this)[id].type; }
  // Returns whether the node has the wires of a GPU, of the job or not.
  bool isDevice(NodeId id) const {
    return type(id) == NodeType::kDev || (type(id) == NodeType::kGpu && gpu(id).place == 0);
  }
  // The node with the wires of a rank's GPU: its own, or that of the first rank on the device.
  NodeId deviceOf(NodeId gpu) const { return isDevice(gpu) ? gpu : links(gpu).front().to; }
  // The node's position among the nodes of its type.
  int position(NodeId id) const { return id - first_[index(type(id))]; }

  const Gpu& gpu(NodeId id) const { return gpus_[static_cast<std::size_t>(position(id))]; }
  const Pci& pci(NodeId id) const { return pcis_[static_cast<std::size_t>(position(id))]; }
  const Cpu& cpu(NodeId id) const { return cpus_[static_cast<std::size_t>(position(id))]; }
  const Net& net(NodeId id) const { return nets_[static_cast<std::size_t>(position(id))]; }

  std::span<const Link> links() const { return links_; }
  std::span<const Link> links(NodeId id) const {
    return std::span(links_).subspan(static_cast<std::size_t>(firstLink(id)),
                                     static_cast<std::size_t>(firstLink(id + 1) - firstLink(id)));
  }
  LinkId firstLink(NodeId id) const { return firstLink_[static_cast<std::size_t>(id)]; }
  const Link& link(LinkId id) const { return links_[static_cast<std::size_t>(id)]; }
  // The first link from `from` to `to` of this type, or kNoLink.
  LinkId findLink(NodeId from, NodeId to, LinkType type) const;

  // The rules of NCCL's version by which the graph is built and used.
  const rules::RuleSet& rules() const { return *rules_; }
  const std::shared_ptr<const rules::RuleSet>& sharedRules() const { return rules_; }
  // Returns whether channels start and end at NETs: the job has ranks elsewhere, and NETs to reach them.
  bool usesNets() const { return rules_->keepsNets ? spansHosts_ : count(NodeType::kNet) > 0; }
  // The GPUs of the whole host, with those that without() has removed, each once.
  int deviceCount() const { return devices_; }
  // The lowest compute capability of those.
  int lowestDeviceSm() const { return lowestDeviceSm_; }

  // In document order.
  std::span<const LinkOverride> overrides() const { return overrides_; }

  // The GPU of a rank, or kNoNode.
  NodeId gpuOfRank(int rank) const;
  bool hasNvs() const { return count(NodeType::kNvs) > 0; }
  // The first CPU, whose kind stands for the whole machine in several rules; null if there is none.
  const Cpu* firstCpu() const { return cpus_.empty() ? nullptr : &cpus_.front(); }

  // `GPU/0-1b000`: type, host and local id in hex.
  std::string name(NodeId id) const;
  // The name of a GPU's device, `DEV/0-1b000`, and the ids of its maker and model, as in Pci.
  std::string deviceName(NodeId gpu) const;
  std::uint64_t deviceWord(NodeId gpu) const;

  // The same machine without the marked nodes; the order of all others stays. By the rules of newer versions GPUs stay as
  // nodes of type kDev.
  System without(const std::vector<bool>& removed) const;
  // Says whether the job has ranks outside of this graph, where the rules keep NETs in any case.
  void setSpansHosts(bool spans) { spansHosts_ = spans; }

 private:
  friend class GraphAssembler;
  static std::size_t index(NodeType type) { return static_cast<std::size_t>(type); }

  std::array<NodeId, kNodeTypes + 1> first_{};
  std::vector<Node> nodes_;
  std::vector<LinkId> firstLink_ = {0};  // by node, and the end
  std::vector<Link> links_;
  std::vector<Gpu> gpus_;
  std::vector<Pci> pcis_;
  std::vector<Cpu> cpus_;
  std::vector<Net> nets_;
  std::shared_ptr<const rules::RuleSet> rules_;
  std::vector<LinkOverride> overrides_;
  std::vector<std::uint64_t> unusedDevices_;  // the words of the nodes of type kDev
  int devices_ = 0;
  int lowestDeviceSm_ = 0;
  bool spansHosts_ = true;
};

// The ranks of a job by the GPUs of one host. A System numbers its host's ranks from 0; messages and files
// show the job's numbers.
//
//   RankNames names(std::vector<int>{8, 9, 10, 11});
//   names(system, gpu)   ->   9
class RankNames {
 public:
  // Names each GPU by its rank on the host.
  RankNames() = default;
  // `ranks`: the job's ranks, by rank on the host.
  explicit RankNames(std::vector<int> ranks) : ranks_(std::move(ranks)) {}

  int operator()(const System& system, NodeId gpu) const {
    const int local = system.gpu(gpu).rank;
    return ranks_.empty() ? local : ranks_[static_cast<std::size_t>(local)];
  }

 private:
  std::vector<int> ranks_;
};

}  // namespace xylem::topology
