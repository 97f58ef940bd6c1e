#include "runtime/comm/join/peer_info.h"

#include <nccl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/per_process.h"
#include "core/spelling.h"
#include "planner/rules/changes.h"
#include "planner/rules/version.h"
#include "planner/topology/detect_files.h"
#include "planner/tuning/tuning_options.h"
#include "runtime/device/host_device.h"
#include "runtime/sockets/secret.h"

namespace xylem::comm {
namespace {

// A number that is equal for ranks on one host: from NCCL_HOSTID, or from the host's name and boot id.
std::uint64_t hostHashOf(const Settings& settings) {
  return std::strtoull(topology::hostHash("/", settings.text(Setting::kHostId)).c_str(), nullptr, 16);
}

// The inode number of a namespace of this process; 0 if the kernel does not tell it.
std::uint64_t namespaceOf(const char* link) {
  struct stat status {};
  return stat(link, &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

constexpr std::uint32_t kPerCore = 1000;  // PeerInfo::quota

std::uint32_t quotaOf(double cores) {
  constexpr double kMost = 1e9;
  return static_cast<std::uint32_t>(std::clamp(cores * kPerCore, 1.0, kMost));
}

Direct directOf(const Settings& settings) {
  // A tuner decides on algorithms, which the direct exchange is none of.
  const std::string& tuner = settings.text(Setting::kTunerPlugin);
  if (settings.integer(Setting::kDirect) != 1 || !(tuner.empty() || isSameWord(tuner, "none")))
    return Direct::kNothing;
  if (settings.text(Setting::kAlgo).empty() && settings.text(Setting::kProto).empty()) return Direct::kAll;
  if (settings.integer(Setting::kNvlsEnable) == 0) return Direct::kNothing;
  const tuning::TuningOptions options = tuning::TuningOptions::from(settings);
  for (const Collective collective : kAllCollectives)
    if (options.algorithms[collective][Algorithm::kNvls]) return Direct::kNvls;
  return Direct::kNothing;
}

}  // namespace

std::uint64_t processNumber() {
  struct Number {
    std::mutex mutex;
    std::optional<std::uint64_t> value;
  };
  static constinit PerProcess<Number> numbers;
  Number& number = numbers.get();
  const std::lock_guard lock(number.mutex);
  if (!number.value) sockets::fillRandom(&number.value.emplace(), sizeof *number.value);
  return *number.value;
}

// A number for the settings by which a rank chooses its proxy ranks; not 0.
std::int64_t proxyRules(const Settings& settings) {
  const std::int64_t level =
      settings.integer(Setting::kPxnDisable) == 1 ? 0 : settings.integer(Setting::kP2pPxnLevel);
  return 1 + level + 4 * settings.integer(Setting::kCrossNic);
}

PeerInfo describePeer(const Settings& settings, int rank, int device, std::uint64_t gpu) {
  PeerInfo info;
  info.peer.hostHash = hostHashOf(settings);
  info.peer.process = processNumber();
  info.peer.networkNamespace = namespaceOf("/proc/self/ns/net");
  info.peer.pidNamespace = namespaceOf("/proc/self/ns/pid");
  info.peer.pid = getpid();
  info.peer.rank = rank;
  info.peer.device = device;
  info.peer.gpu = gpu;
  info.bufferBytes = static_cast<std::uint64_t>(settings.integer(Setting::kBuffSize));
  info.cores = device::coreSet();
  if (const std::optional<device::CoreQuota> quota = device::coreQuota()) {
    info.quota = quotaOf(quota->cores);
    info.quotaGroup = static_cast<std::uint32_t>(quota->group);
  }
  info.library = NCCL_VERSION_CODE;
  info.rules = rules::versionNumber(rules::rulesOf(settings)->version);
  info.direct = gpu != 0 ? Direct::kNothing : directOf(settings);
  info.checked = settings.integer(Setting::kCheck);
  if (gpu != 0 || settings.integer(Setting::kPxn) == 1) info.usesProxies = proxyRules(settings);
  return info;
}

HostMap hostMapOf(std::span<const PeerInfo> peers, int rank) {
  HostMap found;
  std::map<std::uint64_t, int> hosts;
  for (std::size_t r = 0; r < peers.size(); ++r) {
    const auto [host, first] = hosts.try_emplace(peers[r].peer.hostHash, static_cast<int>(hosts.size()));
    found.hostOfRank.push_back(host->second);
  }
  found.hosts = static_cast<int>(hosts.size());
  const int mine = found.hostOfRank[static_cast<std::size_t>(rank)];
  for (std::size_t r = 0; r < peers.size(); ++r) {
    if (found.hostOfRank[r] != mine) continue;
    if (static_cast<int>(r) == rank) found.localRank = static_cast<int>(found.ranks.size());
    found.ranks.push_back(static_cast<int>(r));
  }
  return found;
}

std::vector<HostCores> coresOfHosts(std::span<const PeerInfo> peers, const HostMap& map) {
  struct Quota {
    std::uint32_t least = ~std::uint32_t{0};
    std::uint32_t ranks = 0;
  };
  struct Known {
    device::CoreSet all;
    int ranks = 0;
    std::vector<std::pair<device::CoreSet, int>>
        sharing;                            // sets of cores, and how many ranks have each of them
    std::map<std::uint32_t, Quota> quotas;  // by control group
  };
  std::vector<Known> hosts(static_cast<std::size_t>(map.hosts));
  for (std::size_t r = 0; r < peers.size(); ++r) {
    Known& host = hosts[static_cast<std::size_t>(map.hostOfRank[r])];
    const device::CoreSet& cores = peers[r].cores;
    host.all |= cores;
    ++host.ranks;
    const auto same = std::find_if(host.sharing.begin(), host.sharing.end(),
                                   [&](const auto& group) { return group.first == cores; });
    if (same == host.sharing.end())
      host.sharing.emplace_back(cores, 1);
    else
      ++same->second;
    if (peers[r].quota == 0) continue;
    Quota& quota = host.quotas[peers[r].quotaGroup];
    quota.least = std::min(quota.least, peers[r].quota);
    ++quota.ranks;
  }
  // The scarcest of: all cores of the host for all its ranks, and each set of cores and each quota for the ranks that have it.
  std::vector<HostCores> found;
  for (const Known& host : hosts) {
    int least = static_cast<int>(host.all.count()) / host.ranks;
    for (const auto& [cores, ranks] : host.sharing)
      least = std::min(least, static_cast<int>(cores.count()) / ranks);
    for (const auto& [group, quota] : host.quotas)
      if (const std::uint32_t each = quota.least / (kPerCore * quota.ranks); std::cmp_less(each, least))
        least = static_cast<int>(each);
    found.push_back({std::max(1, least), least < 1});
  }
  return found;
}

void checkVersions(std::span<const PeerInfo> peers) {
  const PeerInfo& first = peers.front();
  const auto text = [](std::int32_t number) { return rules::versionText(rules::versionOfNumber(number)); };
  for (std::size_t r = 1; r < peers.size(); ++r) {
    if (peers[r].library != first.library)
      throw Error(ResultCode::kInvalidUsage,
                  "rank 0 has version {} of the library, rank {} has {}: install one version on all hosts",
                  text(first.library), r, text(peers[r].library));
    if (peers[r].rules != first.rules)
      throw Error(ResultCode::kInvalidUsage,
                  "rank 0 plans by the rules of NCCL {}, rank {} by those of {}: set XYLEM_NCCL to one "
                  "version on all "
                  "ranks",
                  text(first.rules), r, text(peers[r].rules));
  }
}

}  // namespace xylem::comm
