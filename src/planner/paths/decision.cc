#include "planner/paths/decision.h"

#include <fmt/format.h>

namespace xylem::paths {
namespace {

const char* outcome(const Decision& d) {
  switch (d.rule) {
    case Rule::kP2p:
      return d.yes ? "direct access" : "no direct access";
    case Rule::kShm:
      return d.yes ? "shared memory" : "no shared memory";
    case Rule::kNetIsBetter:
      return d.yes ? "the network is better" : "the network is not better";
    case Rule::kGdrReceive:
      return d.yes ? "GPU Direct RDMA when receiving" : "no GPU Direct RDMA when receiving";
    case Rule::kGdrSend:
      return d.yes ? "GPU Direct RDMA when sending" : "no GPU Direct RDMA when sending";
    case Rule::kPxn:
      return d.yes ? "through another GPU (PXN)" : "not through another GPU";
    case Rule::kFlush:
      return d.yes ? "a flush after every receive" : "no flush after a receive";
  }
  return "";
}

std::string because(const Decision& d, const NodeNamer& nodeName) {
  switch (d.reason) {
    case Reason::kNear:
      return fmt::format("the path is {}, within {}", name(d.distance), name(d.limit));
    case Reason::kTooFar:
      return fmt::format("the path is {}, farther than {}", name(d.distance), name(d.limit));
    case Reason::kHostDevices:
      return "both are host devices and share their host's memory";
    case Reason::kNotOnThisHost:
      return "the peer is not in this host's graph";
    case Reason::kOtherHost:
      return "they are on different hosts";
    case Reason::kDisabled:
      return "it is switched off";
    case Reason::kNicWithoutGdr:
      return "the network device has gdr=\"0\"";
    case Reason::kGpuWithoutGdr:
      return "the GPU has gdr=\"0\"";
    case Reason::kOldGpuAlone:
      return "a GPU below sm 80 without an NVLink neighbour sends through host memory";
    case Reason::kNicsFaster:
      return "both GPUs reach a NIC with more bandwidth than each other";
    case Reason::kPathFaster:
      return "the GPUs reach each other with at least a NIC's bandwidth";
    case Reason::kOpen:
      return "nothing forbids it";
    case Reason::kRelayFaster:
      return fmt::format("{} is nearer to it", nodeName(d.relay));
    case Reason::kNoRelay:
      return "no GPU counts the NIC among its own";
    case Reason::kOwnNic:
      return "the NIC is its own";
    case Reason::kRelayFar:
      return fmt::format("{} is itself farther from the NIC than {}", nodeName(d.relay), name(d.limit));
    case Reason::kRelayApart:
      return fmt::format("NVLink does not join it and {}", nodeName(d.relay));
    case Reason::kRelayWithoutGdr:
      return fmt::format("the NIC has no GPU Direct RDMA to {}", nodeName(d.relay));
    case Reason::kDirectAsGood:
      return fmt::format("its own path is {} and as fast as that of {}", name(d.distance), nodeName(d.relay));
    case Reason::kOldGpu:
      return "below sm 90 data may arrive after the message that it is there";
    case Reason::kDataDirect:
      return "the network device is a data-direct one";
    case Reason::kAskedFor:
      return "it is asked for";
    case Reason::kPciBesideC2c:
      return "data comes over PCI, and the message that it is there over the GPU's chip-to-chip link";
    case Reason::kInOrder:
      return "from sm 90 on data arrives before the message that it is there";
  }
  return "";
}

}  // namespace

std::string Explanation::clause() const {
  return variable.empty() ? fmt::format("{}: {}", outcome, reason)
                          : fmt::format("{}: {} ({})", outcome, reason, variable);
}

std::string Explanation::sentence() const { return fmt::format("{} to {}: {}", subject, object, clause()); }

Explanation explain(const Decision& d, const topology::System& system) {
  return explain(d, [&](topology::NodeId node) { return system.name(node); });
}

Explanation explain(const Decision& d, const NodeNamer& name) {
  return {.subject = name(d.subject),
          .object = d.object == topology::kNoNode ? "its peer" : name(d.object),
          .outcome = outcome(d),
          .reason = because(d, name),
          .variable = d.variable == Setting::kCount ? "" : spec(d.variable).name};
}

namespace {

// `GPU Direct RDMA Enabled for GPU 0 / HCA 2 (distance 4 <= 6), read 0 mode Default`; which parts there are depends on the rules.
std::string gdrByNumber(const Decision& d, const topology::System& system, bool overPci,
                        const topology::RankNames& names) {
  const std::string pair = fmt::format("{} for GPU {} / HCA {:x} (distance {} {} {})",
                                       d.yes ? "Enabled" : "Disabled", names(system, d.subject),
                                       system[d.object].key.value, typeNumber(d.distance, system.rules()),
                                       d.yes ? "<=" : ">", typeNumber(d.limit, system.rules()));
  const std::string read = d.yes ? fmt::format(", read {}", d.rule == Rule::kGdrSend ? 1 : 0) : "";
  const bool mode = d.yes && system.rules().logsGdrMode;
  return "GPU Direct RDMA " + pair + read + (mode ? overPci ? " mode PCI" : " mode Default" : "");
}

// The same since devices have names, with their numbers in decimal.
std::string gdrByName(const Decision& d, const topology::System& system, bool overPci,
                      const topology::RankNames& names) {
  const auto id = [&](topology::NodeId node) {
    return fmt::format("{}-{}", system[node].key.system(), system[node].key.local());
  };
  std::string text =
      fmt::format("GPU Direct RDMA {} for GPU/{} (rank {}) - NET/{} (", d.yes ? "Enabled" : "Disabled",
                  id(d.subject), names(system, d.subject), id(d.object));
  if (d.relay != topology::kNoNode) text += fmt::format(" using PXN via GPU/{}, ", id(d.relay));
  text += fmt::format("distance {} {} {}", typeNumber(d.distance, system.rules()), d.yes ? "<=" : ">",
                      typeNumber(d.limit, system.rules()));
  if (d.yes)
    text += fmt::format(", read {}, mode {}", d.rule == Rule::kGdrSend ? 1 : 0, overPci ? "PCI" : "Default");
  return text + ")";
}

}  // namespace

std::vector<LogLine> infoLines(const Decision& d, const topology::System& system, bool overPci,
                               const topology::RankNames& names) {
  const rules::RuleSet& rules = system.rules();
  const bool gdr = d.rule == Rule::kGdrReceive || d.rule == Rule::kGdrSend;
  if (!gdr || (d.reason != Reason::kNear && d.reason != Reason::kTooFar) ||
      rules.gdrLog == rules::GdrLog::kNone)
    return {};
  const Subsystem subsystem = rules.gdrLog == rules::GdrLog::kNet ? Subsystem::kNet : Subsystem::kGraph;
  std::vector<LogLine> lines;
  if (rules.logsC2cGdr && d.distance == PathType::kC2c)
    lines.push_back({LogLevel::kInfo, subsystem,
                     fmt::format("GPU {} / HCA {:x} connected via C2C link", names(system, d.subject),
                                 system[d.object].key.value)});
  lines.push_back({LogLevel::kInfo, subsystem,
                   rules.gdrLog == rules::GdrLog::kNamed ? gdrByName(d, system, overPci, names)
                                                         : gdrByNumber(d, system, overPci, names)});
  return lines;
}

}  // namespace xylem::paths
