// Checks CPUs, GPUs and network devices: their attributes, that their numbers are unique per host, and that
// GPUs and NETs are below the same CPUs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "insight/lint/checks.h"
#include "planner/topology/bandwidths.h"

namespace xylem::lint {
namespace {

constexpr std::int64_t kMaxNetSpeed = 1'600'000;  // Mb/s; no port is faster

constexpr const char* kArchs[] = {"x86_64", "arm64", "ppc64"};
constexpr const char* kVendors[] = {"GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  "};

class DeviceCheck {
 public:
  DeviceCheck(const topology::Document& document, const rules::RuleSet& rules, Findings& findings)
      : document_(document),
        rules_(rules),
        findings_(findings),
        gpus_(elementsCalled(document, "gpu")),
        nets_(elementsCalled(document, "net")) {}

  void check() {
    for (const topology::ElementId cpu : elementsCalled(document_, "cpu")) checkCpu(cpu);
    checkMixed();
    if (gpus_.empty())
      findings_.add(Severity::kError, "no-gpu", 0, "no gpu",
                    "write every GPU as <gpu dev=\"0\" sm=\"90\"/> in a pci");
    for (const topology::ElementId gpu : gpus_) checkGpu(gpu);
    checkRanks();
    for (const topology::ElementId net : nets_) checkNet(net);
    for (const topology::ElementId nic : elementsCalled(document_, "nic")) checkNic(nic);
    checkNear();
  }

 private:
  void add(Severity severity, const char* rule, topology::ElementId at, std::string found, std::string fix) {
    findings_.add(severity, rule, document_[at].line, std::move(found), std::move(fix));
  }

  bool holds(topology::ElementId element, std::string_view name) const {
    for (const topology::ElementId child : document_[element].children)
      if (document_[child].name == name || holds(child, name)) return true;
    return false;
  }

  void checkCpu(topology::ElementId cpu) {
    const auto numa = numberOf(document_, cpu, "numaid");
    if (numa && *numa < 0)
      add(Severity::kWarning, "numa-unknown", cpu,
          "numaid=\"-1\": what is below counts as far from all other CPUs",
          "move what it holds to the cpu or switch it is really at; "
          "`cat /sys/bus/pci/devices/BUSID/numa_node` on the host tells");
    if (numa) {
      const auto [first, isNew] = numas_.emplace(std::pair(document_.text(cpu, "host_hash"), *numa), cpu);
      if (!isNew)
        add(Severity::kError, "duplicate-numaid", cpu,
            fmt::format("numaid=\"{}\" a second time (first in line {})", *numa,
                        document_[first->second].line),
            "put both contents into one cpu element");
    }
    if (document_[cpu].children.empty())
      add(Severity::kNote, "empty-cpu", cpu, "a cpu without any device", "nothing needs to be done");
    const std::string arch = document_.text(cpu, "arch");
    if (document_.attribute(cpu, "arch") != nullptr && !startsWithAny(arch, kArchs))
      add(Severity::kWarning, "cpu-kind", cpu, fmt::format("arch=\"{}\": its links count as 5000 GB/s", arch),
          "write x86_64, arm64 or ppc64");
    if (arch.starts_with("x86_64")) checkVendor(cpu);
    if (!arch.empty()) kinds_.emplace(arch + " " + document_.text(cpu, "vendor"), cpu);
    const std::string mask = document_.text(cpu, "affinity");
    if (mask.find_first_not_of("0123456789abcdefABCDEF,x") != std::string::npos)
      add(Severity::kWarning, "affinity", cpu, "an affinity that is no mask of CPUs",
          "write it in hex, as /sys/devices/system/node/node0/cpumap has it: 00000000,0000ffff");
  }

  template <typename Words>
  static bool startsWithAny(const std::string& text, const Words& words) {
    for (const char* word : words)
      if (text.starts_with(word)) return true;
    return false;
  }

  void checkVendor(topology::ElementId cpu) {
    const std::string* vendor = document_.attribute(cpu, "vendor");
    if (vendor == nullptr) {
      add(Severity::kError, "missing-attribute", cpu, "cpu with arch=\"x86_64\" without `vendor`",
          "write vendor=\"GenuineIntel\" or \"AuthenticAMD\"");
      return;
    }
    if (!startsWithAny(*vendor, kVendors))
      add(Severity::kWarning, "cpu-kind", cpu,
          fmt::format("vendor=\"{}\": its links count as 5000 GB/s", *vendor),
          "write GenuineIntel, AuthenticAMD, CentaurHauls or `  Shanghai  `");
    if (vendor->starts_with("AuthenticAMD")) return;
    for (const char* key : {"familyid", "modelid"})
      if (startsWithAny(*vendor, kVendors) && document_.attribute(cpu, key) == nullptr)
        add(Severity::kError, "missing-attribute", cpu,
            fmt::format("cpu with vendor=\"{}\" without `{}`", *vendor, key),
            fmt::format("write {}=\"…\", as /proc/cpuinfo has it", key));
  }

  void checkMixed() {
    if (kinds_.size() < 2) return;
    std::string all;
    for (const auto& [kind, cpu] : kinds_) all += (all.empty() ? "" : ", ") + kind;
    for (const auto& [kind, cpu] : kinds_)
      if (cpu != kinds_.begin()->second)
        add(Severity::kWarning, "mixed-cpus", cpu, fmt::format("CPUs of different kinds: {}", all),
            "write the same arch and vendor on all cpu elements of a host");
  }

  void checkGpu(topology::ElementId gpu) {
    if (const auto dev = numberOf(document_, gpu, "dev"); dev && *dev >= 0) {
      const auto [first, isNew] = gpuDevs_.emplace(std::pair(hostOf(gpu), *dev), gpu);
      const bool parts =
          isPart(document_, gpu, rules_) && document_[gpu].parent == document_[first->second].parent;
      if (!isNew && !parts)
        add(Severity::kWarning, "duplicate-dev", gpu,
            fmt::format("a gpu with dev=\"{}\" a second time (first in line {})", *dev,
                        document_[first->second].line),
            "give every gpu its own number");
    }
    const auto sm = numberOf(document_, gpu, "sm");
    if (sm && *sm < 30)
      add(Severity::kWarning, "sm", gpu, fmt::format("sm=\"{}\"", *sm),
          "write major and minor together: 9.0 as 90, 8.6 as 86");
    if (document_.text(gpu, "gdr") == "0" && document_.text(gpu, "host") != "1")
      add(Severity::kNote, "gdr-off", gpu, "gdr=\"0\" on a gpu: no GPU Direct RDMA with it",
          "write gdr=\"1\" if the driver can (nvidia-peermem, or DMA-BUF)");
  }

  std::string hostOf(topology::ElementId element) const {
    const topology::ElementId cpu = holderOf(document_, element, "cpu");
    return cpu == topology::kNoElement ? "" : document_.text(cpu, "host_hash");
  }

  void checkRanks() {
    std::map<std::int64_t, topology::ElementId> ranks;
    topology::ElementId without = topology::kNoElement;
    for (const topology::ElementId gpu : gpus_) {
      const auto rank = numberOf(document_, gpu, "rank");
      if (!rank) {
        if (without == topology::kNoElement) without = gpu;
        continue;
      }
      const auto [first, isNew] = ranks.emplace(*rank, gpu);
      if (!isNew)
        add(Severity::kError, "duplicate-rank", gpu,
            fmt::format("rank=\"{}\" a second time (first in line {})", *rank, document_[first->second].line),
            "give every gpu its own rank, from 0 on");
    }
    if (!ranks.empty() && without != topology::kNoElement)
      add(Severity::kWarning, "no-rank", without,
          "a gpu without rank, where others have one: no rank uses it",
          "write a rank on every gpu, or on none");
    if (!ranks.empty() && ranks.rbegin()->first >= static_cast<std::int64_t>(ranks.size()))
      add(Severity::kError, "rank-gap", ranks.rbegin()->second,
          fmt::format("rank=\"{}\" where {} GPUs have ranks", ranks.rbegin()->first, ranks.size()),
          "count ranks from 0 without gaps");
  }

  void checkNic(topology::ElementId nic) {
    if (document_.child(nic, "net") == topology::kNoElement)
      add(Severity::kWarning, "nic-without-net", nic, "a nic without net: it is not used",
          "write a <net name=\"…\" dev=\"…\" speed=\"…\" gdr=\"1\"/> per port into it");
    if (document_[document_[nic].parent].name == "cpu")
      add(Severity::kNote, "nic-at-cpu", nic,
          "a nic directly at a cpu: all such NICs of a host count as one, far from the GPUs' switches",
          "put it into a pci with its bus id, below the switch it is at");
  }

  void checkNet(topology::ElementId net) {
    const auto dev = numberOf(document_, net, "dev");
    if (!dev) {
      add(Severity::kWarning, "net-without-dev", net, "a net without dev: it is not used",
          "write dev=\"0\" and so on, one number per port");
    } else {
      const auto [first, isNew] = netDevs_.emplace(std::pair(hostOf(net), *dev), net);
      if (!isNew)
        add(Severity::kError, "duplicate-dev", net,
            fmt::format("a net with dev=\"{}\" a second time (first in line {})", *dev,
                        document_[first->second].line),
            "give every net its own number");
    }
    const auto speed = numberOf(document_, net, "speed");
    if (!speed || *speed <= 0)
      add(Severity::kWarning, "net-speed", net,
          fmt::format("a net without speed: it counts as {} Mb/s", topology::kNetSpeedDefault),
          "write it in Mb/s: speed=\"400000\" for 400 Gb/s");
    else if (*speed < topology::kNetSpeedLeastLikely)
      add(Severity::kWarning, "net-speed", net, fmt::format("speed=\"{}\": that is {} Mb/s", *speed, *speed),
          fmt::format("write Mb/s: speed=\"{}\" for {} Gb/s", *speed * 1000, *speed));
    else if (*speed > kMaxNetSpeed)
      add(Severity::kWarning, "net-speed", net,
          fmt::format("speed=\"{}\": that is {} Gb/s", *speed, *speed / 1000),
          "write Mb/s: speed=\"400000\" for 400 Gb/s");
    if (document_.attribute(net, "gdr") == nullptr)
      add(Severity::kWarning, "gdr-missing", net, "a net without gdr: it counts as 0, no GPU Direct RDMA",
          "write gdr=\"1\" if the card reaches GPU memory, else gdr=\"0\"");
    else if (document_.text(net, "gdr") == "0")
      add(Severity::kNote, "gdr-off", net,
          "gdr=\"0\" on a net: data to and from GPUs goes through host memory",
          "write gdr=\"1\" if the card reaches GPU memory (nvidia-peermem, or DMA-BUF)");
    checkGuid(net);
  }

  // NCCL takes ports with the same guid for one card, and those with the same port number, too, for one port.
  void checkGuid(topology::ElementId net) {
    const std::string guid = document_.text(net, "guid");
    if (guid.empty()) return;
    const topology::ElementId pci = holderOf(document_, net, "pci");
    const auto key = std::tuple(hostOf(net), guid, document_.text(net, "port"));
    const auto [first, isNew] = guids_.emplace(key, net);
    if (isNew || holderOf(document_, first->second, "pci") == pci) return;
    add(Severity::kWarning, "shared-guid", net,
        fmt::format("guid=\"{}\" and port as of the net in line {}: the two share one port's bandwidth", guid,
                    document_[first->second].line),
        "write a guid of its own, unless they are virtual functions of one port");
  }

  void checkNear() {
    if (gpus_.empty()) return;
    if (nets_.empty()) {
      findings_.add(Severity::kNote, "no-net", 0, "no net: jobs of this machine stay on one host",
                    "write its network cards, if it has any");
      return;
    }
    checkFlat();
    std::map<topology::ElementId, std::pair<int, int>> devices;  // by cpu: GPUs and nets
    for (const topology::ElementId gpu : gpus_) ++devices[holderOf(document_, gpu, "cpu")].first;
    for (const topology::ElementId net : nets_) ++devices[holderOf(document_, net, "cpu")].second;
    for (const auto& [cpu, count] : devices) {
      if (cpu == topology::kNoElement) continue;
      if (count.first > 0 && count.second == 0)
        add(Severity::kWarning, "gpus-without-net", cpu,
            fmt::format("a cpu with {} GPU{} and no net: they reach the network through another CPU",
                        count.first, count.first == 1 ? "" : "s"),
            "check where the cards are; `lspci -t` on the host shows it");
      if (count.first == 0 && count.second > 0 && devices.size() > 1)
        add(Severity::kWarning, "nets-without-gpu", cpu,
            fmt::format("a cpu with {} net{} and no GPU: they are far from all GPUs", count.second,
                        count.second == 1 ? "" : "s"),
            "check where the cards are; `lspci -t` on the host shows it");
    }
  }

  // Counts GPUs and nets below an element. Returns true if some switch in there holds both.
  bool shareSwitch(topology::ElementId element, int& gpus, int& nets) const {
    bool share = false;
    int ownGpus = document_[element].name == "gpu" ? 1 : 0;
    int ownNets = document_[element].name == "net" ? 1 : 0;
    for (const topology::ElementId child : document_[element].children)
      share = shareSwitch(child, ownGpus, ownNets) || share;
    share = share || (document_[element].name == "pci" && ownGpus > 0 && ownNets > 0);
    gpus += ownGpus;
    nets += ownNets;
    return share;
  }

  // Finds machines whose GPUs and NICs only meet at CPUs, beyond the distance at which NCCL uses GPU Direct
  // RDMA. Boards with NVSwitches always have PCI switches, so one without was seen through a hypervisor.
  void checkFlat() {
    int gpus = 0;
    int nets = 0;
    if (shareSwitch(document_.root(), gpus, nets) || gpus < 2 || nets < 2) return;
    const std::vector<topology::ElementId> links = elementsCalled(document_, "nvlink");
    const bool onBoard = std::any_of(links.begin(), links.end(), [&](topology::ElementId link) {
      return document_.text(link, "tclass").starts_with("0x0680");
    });
    add(onBoard ? Severity::kWarning : Severity::kNote, "flat", gpus_.front(),
        fmt::format("no PCI switch holds a GPU and a NIC: {} GPUs and {} nets meet at CPUs only, "
                    "where NCCL does without GPU Direct RDMA",
                    gpus, nets),
        onBoard
            ? "in a virtual machine, write the switches of the host: `xylem vm FILE --pair auto` makes them"
            : "nothing, if the board has no PCI switches; in a virtual machine see `xylem vm FILE --pair "
              "auto`");
  }

  const topology::Document& document_;
  const rules::RuleSet& rules_;
  Findings& findings_;
  std::vector<topology::ElementId> gpus_, nets_;
  std::map<std::pair<std::string, std::int64_t>, topology::ElementId> numas_, gpuDevs_, netDevs_;
  std::map<std::tuple<std::string, std::string, std::string>, topology::ElementId> guids_;
  std::map<std::string, topology::ElementId> kinds_;
};

}  // namespace

void checkDevices(const topology::Document& document, const rules::RuleSet& rules, Findings& findings) {
  DeviceCheck(document, rules, findings).check();
}

}  // namespace xylem::lint
