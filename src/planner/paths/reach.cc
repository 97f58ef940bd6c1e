#include "planner/paths/reach.h"

#include <algorithm>

#include "core/error.h"
#include "core/settings.h"

namespace xylem::paths {
namespace {

// The farthest path for direct access when no variable says otherwise.
constexpr PathType kDefaultLevel = PathType::kPxb;
// On AMD machines with this many GPUs or fewer, direct access reaches across CPUs.
constexpr int kFewGpus = 2;
// From this compute capability on a NIC may always read GPU memory.
constexpr int kReadsByDefaultSm = 80;
// From this compute capability on a NIC's writes into GPU memory are seen in order.
constexpr int kOrdersWritesSm = 90;
// Transfers read instead of writing only between two GPUs of exactly this compute capability.
constexpr int kReadingSm = 80;

void setLimit(Decision& decision, PathType limit, LimitFrom from) {
  decision.limit = limit;
  decision.limitFrom = from;
}

}  // namespace

ReachOptions ReachOptions::from(const Settings& settings, const rules::RuleSet& rules) {
  ReachOptions options;
  if (settings.isSet(Setting::kP2pLevel))
    options.p2pLevel = parseLevel(settings.text(Setting::kP2pLevel), rules);
  if (settings.integer(Setting::kP2pDisable) == 1) {
    options.p2pLevel = PathType::kLoc;
    options.p2pVariable = Setting::kP2pDisable;
  }
  if (settings.isSet(Setting::kNetGdrLevel))
    options.gdrLevel = parseLevel(settings.text(Setting::kNetGdrLevel), rules);
  const auto byVersion = [&](Setting setting) -> std::optional<bool> {
    const std::int64_t value = settings.integer(setting);
    return value < 0 ? std::nullopt : std::optional(value != 0);
  };
  options.gdrC2c = byVersion(Setting::kNetGdrC2c);
  options.pxnC2c = byVersion(Setting::kPxnC2c);
  options.gdrRead = static_cast<int>(settings.integer(Setting::kNetGdrRead));
  options.shmDisable = settings.integer(Setting::kShmDisable) == 1;
  options.pxnDisable = settings.integer(Setting::kPxnDisable) == 1;
  options.nvbDisable = settings.integer(Setting::kNvbDisable) != 0;
  options.gdrOfParts = settings.integer(Setting::kNetGdrMlopart) != 0;
  options.copyEngines = settings.integer(Setting::kP2pUseCudaMemcpy) == 1;
  options.forceFlush = settings.integer(Setting::kNetForceFlush) == 1;
  options.netDisableIntra = settings.integer(Setting::kNetDisableIntra) == 1;
  return options;
}

// Looked up by its device number, a part of a GPU is the first one of its device, and a rank the first one on its GPU.
topology::NodeId Reach::firstPart(topology::NodeId gpu) const {
  if (system_.gpu(gpu).part < 0 && system_.gpu(gpu).place == 0) return gpu;
  for (topology::NodeId other : system_.nodes(topology::NodeType::kGpu))
    if (system_.gpu(other).dev == system_.gpu(gpu).dev &&
        system_[other].key.system() == system_[gpu].key.system())
      return other;
  return gpu;
}

bool Reach::isOnC2c(topology::NodeId gpu) const {
  return system_.rules().c2cLinks &&
         paths_.path(gpu, closestCpu(system_, paths_, gpu)).type == PathType::kC2c;
}

// The GPU in the middle of a path of two links from a to b, or kNoNode. Links between ranks of one GPU do not count.
topology::NodeId Reach::relayOf(topology::NodeId a, topology::NodeId b) const {
  auto links = paths_.links(a, b);
  if (!links.empty() && !system_.isDevice(a)) links = links.subspan(1);
  if (!links.empty() && !system_.isDevice(b)) links = links.first(links.size() - 1);
  if (links.size() != 2) return topology::kNoNode;
  const topology::NodeId middle = system_.link(links[0]).to;
  return system_.type(middle) == topology::NodeType::kGpu ? firstPart(middle) : topology::kNoNode;
}

// Compares the path's type with a limit: NCCL's default, a wider one for small AMD machines, or the user's,
// in ascending precedence. Host devices share memory, so only a limit of the user's keeps them apart.
Decision Reach::p2p(topology::NodeId a, topology::NodeId b) const {
  Decision d{.rule = Rule::kP2p, .subject = a, .object = b, .distance = paths_.path(a, b).type};
  d.relay = relayOf(a, b);
  const bool hostDevices = system_.gpu(a).hostDevice && system_.gpu(b).hostDevice;
  const bool oneHost = system_[a].key.system() == system_[b].key.system();
  if (hostDevices && oneHost && !options_.p2pLevel) {
    d.yes = true;
    d.reason = Reason::kHostDevices;
    return d;
  }
  const topology::Cpu* cpu = system_.firstCpu();
  setLimit(d, kDefaultLevel, LimitFrom::kDefault);
  const int gpus =
      system_.rules().unusedGpusCount ? system_.deviceCount() : system_.count(topology::NodeType::kGpu);
  if (cpu != nullptr && cpu->is(topology::CpuArch::kX86, topology::CpuVendor::kAmd) && gpus <= kFewGpus)
    setLimit(d, PathType::kSys, LimitFrom::kFewAmdGpus);
  if (options_.p2pLevel) setLimit(d, *options_.p2pLevel, LimitFrom::kVariable);
  d.variable = options_.p2pVariable;
  d.yes = d.distance <= d.limit;
  d.reason = d.yes ? Reason::kNear : Reason::kTooFar;
  return d;
}

bool Reach::p2pRead(topology::NodeId a, topology::NodeId b) const {
  return paths_.path(a, b).type == PathType::kNvl && system_.gpu(a).sm == kReadingSm &&
         system_.gpu(b).sm == kReadingSm;
}

// The bandwidth in GB/s of the GPU's best path to a NIC that is not farther than PXB.
float Reach::bestNetBandwidth(topology::NodeId gpu) const {
  float best = 0;
  for (topology::NodeId net : system_.nodes(topology::NodeType::kNet)) {
    const Path& path = paths_.path(gpu, net);
    if (path.type <= PathType::kPxb) best = std::max(best, path.bandwidth);
  }
  return best;
}

Decision Reach::netIsBetter(topology::NodeId a, topology::NodeId b) const {
  Decision d{.rule = Rule::kNetIsBetter, .subject = a, .object = b, .variable = Setting::kNetDisableIntra};
  if (options_.netDisableIntra) {
    d.reason = Reason::kDisabled;
    return d;
  }
  if (a == topology::kNoNode || b == topology::kNoNode) {
    d.yes = true;
    d.reason = Reason::kNotOnThisHost;
    return d;
  }
  const float direct = paths_.path(a, b).bandwidth;
  d.distance = paths_.path(a, b).type;
  d.yes = bestNetBandwidth(a) > direct && bestNetBandwidth(b) > direct;
  d.reason = d.yes ? Reason::kNicsFaster : Reason::kPathFaster;
  return d;
}

// Direct access is not enough for the transport: the copy engines cannot use a relay GPU, and two NICs may be
// faster than the path.
Decision Reach::transportP2p(Decision d) const {
  if (!d.yes) return d;
  if (d.relay != topology::kNoNode) {
    if (!options_.copyEngines) return d;
    d.yes = false;
    d.reason = Reason::kDisabled;
    d.variable = Setting::kP2pUseCudaMemcpy;
    return d;
  }
  if (system_.count(topology::NodeType::kNet) == 0) return d;
  const Decision net = netIsBetter(d.subject, d.object);
  if (!net.yes) return d;
  d.yes = false;
  d.reason = net.reason;
  d.variable = net.variable;
  return d;
}

Decision Reach::transportShm(topology::NodeId a, topology::NodeId b) const {
  Decision d{.rule = Rule::kShm, .subject = a, .object = b, .variable = Setting::kShmDisable};
  d.distance = paths_.path(a, b).type;
  if (options_.shmDisable) {
    d.reason = Reason::kDisabled;
    return d;
  }
  if (a != topology::kNoNode && b != topology::kNoNode &&
      system_[a].key.system() != system_[b].key.system()) {
    d.reason = Reason::kOtherHost;
    return d;
  }
  const Decision net = netIsBetter(a, b);
  d.yes = !net.yes;
  d.reason = net.yes ? net.reason : Reason::kOpen;
  if (net.yes) d.variable = net.variable;
  return d;
}

bool Reach::hasNvlinkNeighbour(topology::NodeId gpu) const {
  const auto others = system_.nodes(topology::NodeType::kGpu);
  return std::any_of(others.begin(), others.end(), [&](topology::NodeId other) {
    return other != gpu && paths_.path(gpu, other).type == PathType::kNvl;
  });
}

// Both devices must support GPU Direct RDMA and be within the limit of each other; over PXN the relay takes
// the GPU's place. Sending, where the NIC reads GPU memory, has one more condition: by default a GPU below sm
// 80 needs an NVLink neighbour, or must be the only GPU.
Decision Reach::gdr(topology::NodeId gpu, topology::NodeId net, Direction direction) const {
  const bool read = direction == Direction::kSend;
  Decision d{.rule = read ? Rule::kGdrSend : Rule::kGdrReceive, .subject = gpu, .object = net};
  if (!system_.net(net).gdr || !system_.gpu(gpu).gdr ||
      (system_.gpu(gpu).part >= 0 && !options_.gdrOfParts)) {
    d.reason = system_.net(net).gdr ? Reason::kGpuWithoutGdr : Reason::kNicWithoutGdr;
    return d;
  }
  if (read && options_.gdrRead <= 0) {
    d.variable = Setting::kNetGdrRead;
    d.reason = options_.gdrRead == 0 ? Reason::kDisabled : Reason::kOldGpuAlone;
    if (options_.gdrRead == 0) return d;
    const bool isolated = system_.count(topology::NodeType::kGpu) > 1 && !hasNvlinkNeighbour(gpu);
    if (system_.gpu(gpu).sm < kReadsByDefaultSm && isolated) return d;
  }
  d.variable = Setting::kNetGdrLevel;
  const rules::GdrOverC2c overC2c = system_.rules().gdrOverC2c;
  const bool mayUseC2c = options_.gdrC2c.value_or(overC2c != rules::GdrOverC2c::kOnRequest);
  setLimit(d, overC2c == rules::GdrOverC2c::kLevel && mayUseC2c ? PathType::kP2c : kDefaultLevel,
           LimitFrom::kDefault);
  if (options_.gdrLevel) setLimit(d, *options_.gdrLevel, LimitFrom::kVariable);
  d.distance = paths_.path(gpu, net).type;
  if (d.distance == PathType::kPxn) {
    d.relay = proxyGpu(gpu, net);
    d.distance = paths_.path(d.relay, net).type;
  }
  const topology::NodeId near = d.relay != topology::kNoNode ? d.relay : gpu;
  if (mayUseC2c &&
      ((overC2c == rules::GdrOverC2c::kAsC2c && d.distance == PathType::kP2c) ||
       (overC2c == rules::GdrOverC2c::kOnRequest && d.distance == PathType::kPhb && isOnC2c(near))))
    d.distance = PathType::kC2c;
  d.yes = d.distance <= d.limit;
  d.reason = d.yes ? Reason::kNear : Reason::kTooFar;
  return d;
}

Decision Reach::flush(topology::NodeId gpu, topology::NodeId net) const {
  Decision d{.rule = Rule::kFlush, .yes = true, .subject = gpu, .object = net};
  d.distance = paths_.path(gpu, net).type;
  d.variable = Setting::kNetForceFlush;
  const bool overPci = system_.rules().flushesPciBesideC2c && d.distance <= PathType::kPxb && isOnC2c(gpu);
  if (options_.forceFlush) {
    d.reason = Reason::kAskedFor;
  } else if (system_.gpu(gpu).sm < kOrdersWritesSm) {
    d.reason = Reason::kOldGpu;
  } else if (system_.net(net).name.ends_with(topology::kDataDirectSuffix)) {
    d.reason = Reason::kDataDirect;
  } else if (overPci) {
    d.reason = Reason::kPciBesideC2c;
  } else {
    d.yes = false;
    d.reason = Reason::kInOrder;
  }
  return d;
}

PathType Reach::farthestRelayNet() const {
  const rules::RuleSet& rules = system_.rules();
  return options_.pxnC2c.value_or(rules.pxnOverC2c) && rules.p2cPaths ? PathType::kP2c : kDefaultLevel;
}

bool Reach::gdrOverPci(const Decision& gdr) const {
  if (!gdr.yes || !isOnC2c(gdr.relay != topology::kNoNode ? gdr.relay : gdr.subject)) return false;
  const bool byLevel = system_.rules().gdrOverC2c == rules::GdrOverC2c::kLevel;
  return gdr.distance != (byLevel ? PathType::kP2c : PathType::kC2c);
}

// The relay is the GPU that the NIC belongs to. It must be near the NIC, joined to the GPU by NVLink on the
// same host, and better than the GPU's direct path: wider, or the direct path is beyond the default limit.
Decision Reach::pxn(topology::NodeId gpu, topology::NodeId net) const {
  Decision d{.rule = Rule::kPxn,
             .reason = Reason::kNoRelay,
             .subject = gpu,
             .object = net,
             .variable = Setting::kPxnDisable};
  d.distance = paths_.path(gpu, net).type;
  if (options_.pxnDisable) {
    d.reason = Reason::kDisabled;
    return d;
  }
  const topology::NodeId relay = locality_.localGpu(net);
  if (relay == topology::kNoNode) return d;
  d.relay = relay;
  const Path& fromRelay = paths_.path(relay, net);
  const Path& direct = paths_.path(gpu, net);
  const rules::RuleSet& rules = system_.rules();
  d.limit = farthestRelayNet();
  const PathType nearEnough = rules.pxnToFarNicsOnly ? PathType::kPxn : kDefaultLevel;
  const bool sameHost = system_[relay].key.system() == system_[gpu].key.system();
  if (relay == gpu) {
    d.reason = Reason::kOwnNic;
  } else if (fromRelay.type > d.limit) {
    d.reason = Reason::kRelayFar;
  } else if (paths_.path(relay, gpu).type > PathType::kNvl || !sameHost) {
    d.reason = Reason::kRelayApart;
  } else if (!(fromRelay.bandwidth > direct.bandwidth || direct.type > nearEnough)) {
    d.reason = Reason::kDirectAsGood;
  } else if (rules.pxnNeedsGdr && !gdr(relay, net, Direction::kSend).yes) {
    d.reason = Reason::kRelayWithoutGdr;
  } else {
    d.yes = true;
    d.reason = Reason::kRelayFaster;
  }
  return d;
}

topology::NodeId Reach::proxyGpu(topology::NodeId gpu, topology::NodeId net) const {
  if (paths_.path(gpu, net).type != PathType::kPxn) return gpu;
  for (topology::LinkId link : paths_.links(gpu, net)) {
    const topology::NodeId next = system_.link(link).to;
    if (system_.type(next) == topology::NodeType::kNvs || next == system_.deviceOf(gpu)) continue;
    if (system_.type(next) == topology::NodeType::kGpu) return firstPart(next);
    break;
  }
  throw Error(ResultCode::kInternalError,
              "no intermediate GPU between the GPU of rank {} and {}: their relay is reached over NVLink "
              "through a CPU; "
              "set NCCL_PXN_DISABLE=1",
              system_.gpu(gpu).rank, system_.name(net));
}

}  // namespace xylem::paths
