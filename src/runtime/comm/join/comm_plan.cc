#include "runtime/comm/join/comm_plan.h"

#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "core/text_file.h"
#include "planner/connect/collnet_nvls.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/plan/graph_dump.h"
#include "planner/plan/planner.h"
#include "planner/search/shared_graphs.h"
#include "planner/topology/document.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/issue/mailboxes.h"
#include "runtime/comm/join/choose_copies.h"
#include "runtime/comm/join/host_description.h"
#include "runtime/comm/join/join_log.h"
#include "runtime/device/scheduler.h"
#include "runtime/gpu/network_slots.h"

namespace xylem::comm {
namespace {

// A description of one rank's view has tens of kilobytes. The limits only bound what a broken peer can make
// this rank allocate.
constexpr std::size_t kMaxDescriptionBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxReportBytes = 2 * kMaxDescriptionBytes;

// With this many ranks on a host, the first of them needs megabytes for a moment: texts and documents of all
// its ranks, and tables of all pairs.
constexpr std::size_t kManyRanks = 64;

// Returns freed memory to the system, which the allocator would keep.
void trimMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

struct DeviceUse {
  std::uint64_t busId = 0;
  std::uint32_t hostDevice = 0;
  std::uint32_t known = 0;  // to a driver (RankDevices::gpu)
  std::int32_t device = 0;
  NetworkName network{};
  std::int32_t unused = 0;  // so that no bytes of a message are left as they were
};
static_assert(std::has_unique_object_representations_v<DeviceUse>);

// `devices`: of the ranks of one host. Ranks whose driver says that they share a GPU were asked before whether they may.
void checkDevices(std::span<const DeviceUse> devices, std::span<const int> ranks) {
  std::map<std::uint64_t, int> users;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].hostDevice != 0 || devices[i].known != 0) continue;
    const auto [found, first] = users.try_emplace(devices[i].busId, ranks[i]);
    if (!first)
      throw Error(
          ResultCode::kInvalidUsage,
          "rank {} and rank {} both use device {} (bus id {:x}) of one host; give each rank its own with "
          "cudaSetDevice",
          found->second, ranks[i], devices[i].device, devices[i].busId);
  }
}

std::span<const std::byte> bytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A rank's message to the first rank of its host: its device, then the XML of what it sees.
std::vector<std::byte> encodeView(const DeviceUse& use, const std::string& xml) {
  std::vector<std::byte> bytes(sizeof use + xml.size());
  std::memcpy(bytes.data(), &use, sizeof use);
  std::memcpy(bytes.data() + sizeof use, xml.data(), xml.size());
  return bytes;
}

// Gathers what the ranks of this host see at the first of them, and fuses it there into one description.
// Returns that; nothing on the other ranks.
std::string fuseHost(bootstrap::Bootstrap& bootstrap, const HostMap& host, const RankDescription& mine,
                     const DeviceUse& use) {
  std::vector<std::string> xmls;
  std::vector<DeviceUse> devices;
  for (const auto& bytes :
       bootstrap.gatherBytesAmong(host.ranks, encodeView(use, mine.xml), kMaxDescriptionBytes,
                                  "the exchange of what the ranks of a host see")) {
    if (bytes.size() < sizeof(DeviceUse))
      throw Error(ResultCode::kRemoteError, "a rank described its host in {} bytes", bytes.size());
    std::memcpy(&devices.emplace_back(), bytes.data(), sizeof(DeviceUse));
    xmls.push_back(textOf(std::span(bytes).subspan(sizeof(DeviceUse))));
  }
  if (host.localRank != 0) return {};
  checkDevices(devices, host.ranks);
  std::vector<NetworkName> networks;
  for (const DeviceUse& rank : devices) networks.push_back(rank.network);
  checkSameNetwork(networks, host.ranks);
  topology::Document fused = fuseDescriptions(xmls);
  // The job knows which host this is. Without the mark, equal hosts have equal descriptions and share a plan.
  forgetHost(fused);
  return topology::writeTopology(fused);
}

std::shared_ptr<const topology::Document> documentOf(const std::string& text, int rank) {
  return std::make_shared<const topology::Document>(
      topology::parseTopology(text, fmt::format("(host of rank {})", rank)));
}

// Whether NCCL_ALGO names NVLS or NVLSTree. Host devices have them where they are asked for.
bool asksForNvls(const Settings& settings) {
  if (settings.text(Setting::kAlgo).empty()) return false;
  const tuning::TuningOptions options = tuning::TuningOptions::from(settings);
  return std::any_of(kAllCollectives.begin(), kAllCollectives.end(), [&](Collective collective) {
    const ByAlgorithm<bool>& allowed = options.algorithms[collective];
    return allowed[Algorithm::kNvls] || allowed[Algorithm::kNvlsTree];
  });
}

// NVLS on GPUs needs a switch and kernels for it.
plan::PlanRequest requestOf(const Settings& settings, const JobOffers& offers) {
  plan::PlanRequest request;
  request.offered.nvls = request.offered.hostSwitch = !offers.gpus && asksForNvls(settings);
  request.offered.collnet = offers.collnet;
  request.hostsListed = true;
  request.splitsDomains = false;  // each host describes itself
  request.graphFile = search::graphFileOf(settings);
  request.rules = connect::Rules::kXylem;
  return request;
}

// Searches the channels of the host that `description` describes, once for all ranks that have such a host.
// Returns nothing if there is nothing to share: the job has one rank, or channels come from a file. Returns
// nothing, too, if the host cannot be planned: every rank then finds that out itself and says why.
std::string searchFor(const std::string& description, int rank, int ranks, const JobOffers& offers,
                      const Settings& settings) {
  if (ranks == 1 || settings.isSet(Setting::kGraphFile)) return {};
  try {
    return search::writeGraphs(plan::searchHost(requestOf(settings, offers),
                                                {documentOf(description, rank), {}, 1}, ranks, settings));
  } catch (const Error&) {
    return {};
  }
}

void dumpTopology(std::span<const std::byte> report, const Settings& settings, int rank) {
  if (settings.isSet(Setting::kTopoDumpFile) && settings.integer(Setting::kTopoDumpFileRank) == rank)
    writeFile(settings.text(Setting::kTopoDumpFile), reportFromBytes(textOf(report)).description);
}

// Reads the reports of all hosts: `all` is by rank and empty except for the first rank of each host. `key` is
// this rank's searchKey(), `first` the first rank of its host.
void readReports(std::span<const std::vector<std::byte>> all, std::uint64_t key, int first,
                 DescribedHosts& hosts) {
  struct Known {
    std::shared_ptr<const topology::Document> document;
    std::shared_ptr<const std::vector<search::HostGraphs>> searched;
  };
  std::map<std::string, Known> known;  // by description
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    // Hosts are numbered by their first ranks, which report for them: reports come in the order of hosts.
    if (all[rank].empty()) continue;
    HostReport report = reportFromBytes(textOf(all[rank]));
    if (static_cast<int>(rank) == first) hosts.copies = std::move(report.copies);
    Known& one = known[report.description];
    if (!one.document) one.document = documentOf(report.description, static_cast<int>(rank));
    if (!one.searched && report.key == key && !report.graphs.empty())
      one.searched =
          std::make_shared<const std::vector<search::HostGraphs>>(search::readGraphs(report.graphs));
    hosts.descriptions.push_back(one.document);
    hosts.searched.push_back(one.searched);
  }
}

// FNV-1a.
class Hash {
 public:
  void add(std::int64_t value) { hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 1099511628211ull; }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ull;
};

}  // namespace

DescribedHosts describeHosts(JoinSteps& steps, bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
                             const Settings& settings, const RankDevices& devices) {
  const HostMap& host = roster.hosts;
  const bool describes = host.localRank == 0;
  DescribedHosts hosts;
  hosts.hostOfRank = host.hostOfRank;
  hosts.offers = {host.hosts > 1 && reducedByAll(roster.peers) != 0, roster.hasGpus()};
  HostReport report;
  steps.run(InitPart::kTopology, "describing the hosts", [&] {
    report.key = searchKey(settings);
    const LocalPlacement placement{bootstrap.rank(), host.localRank,   static_cast<int>(host.ranks.size()),
                                   devices.device,   devices.networks, devices.gpu};
    const RankDescription mine = describeForRank(settings, placement);
    hosts.busId = busIdNumber(mine.busId);
    report.description = fuseHost(bootstrap, host, mine,
                                  {hosts.busId, mine.hostDevice ? 1u : 0u, devices.gpu.empty() ? 0u : 1u,
                                   devices.device, devices.network});
    if (describes)
      report.graphs =
          searchFor(report.description, bootstrap.rank(), bootstrap.ranks(), hosts.offers, settings);
  });
  if (describes)
    steps.run(InitPart::kCopies, "measuring how data moves", [&] {
      report.copies = copiesFor(roster, settings, copyThreads(roster, settings, devices.device));
    });
  steps.run(InitPart::kTopology, "exchanging the hosts' descriptions", [&] {
    const std::string mine = describes ? toBytes(report) : "";
    if (describes && host.ranks.size() >= kManyRanks) trimMemory();
    const auto all =
        bootstrap.allGatherBytes(bytesOf(mine), kMaxReportBytes, "the exchange of the hosts' descriptions");
    readReports(all, report.key, host.ranks.front(), hosts);
    if (const auto& first = all[static_cast<std::size_t>(host.ranks.front())]; !first.empty())
      dumpTopology(first, settings, bootstrap.rank());
    if (static_cast<int>(hosts.descriptions.size()) != host.hosts)
      throw Error(ResultCode::kInternalError, "{} hosts described themselves; the job has {}",
                  hosts.descriptions.size(), host.hosts);
  });
  return hosts;
}

std::uint64_t hashOf(const plan::Plan& plan) {
  Hash hash;
  const connect::Connections& c = plan.connections;
  hash.add(c.nChannels());
  hash.add(c.of(0).p2pChannels);
  hash.add(c.of(0).p2pChannelsPerPeer);
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    for (const int rank : connect::ringOf(c, channel)) hash.add(rank);
    for (int rank = 0; rank < c.job.ranks(); ++rank) hash.add(connect::treeOf(c, rank, channel).up);
  }
  hash.add(c.nvlsHeads);
  hash.add(c.collnet ? 1 : 0);
  for (int channel = 0; c.collnet && channel < c.nChannels(); ++channel)
    for (int rank = 0; rank < c.job.ranks(); ++rank) hash.add(connect::collnetChainOf(c, rank, channel).up);
  const tuning::TuningModel& model = plan.tuning.front();
  for (const Collective collective : kAllCollectives)
    for (const Algorithm algorithm : kAllAlgorithms)
      for (const Protocol protocol : kAllProtocols) {
        hash.add(static_cast<std::int64_t>(model.latency[collective][algorithm][protocol] * 1000));
        hash.add(static_cast<std::int64_t>(model.bandwidth[collective][algorithm][protocol] * 1000));
      }
  return hash.value();
}

plan::Plan planOf(const DescribedHosts& hosts, const Settings& settings, bool decisions) {
  plan::PlanRequest request = requestOf(settings, hosts.offers);
  for (std::size_t i = 0; i < hosts.descriptions.size(); ++i)
    request.hosts.push_back({hosts.descriptions[i], {}, 1, hosts.searched[i]});
  request.hostOfRank = hosts.hostOfRank;
  request.decisions = decisions;
  return plan::planJob(request, settings);
}

void checkSamePlan(std::span<const std::uint64_t> hashes) {
  for (std::size_t rank = 0; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes.front())
      throw Error(ResultCode::kInvalidUsage,
                  "rank {} and rank 0 made different plans: are their NCCL_* variables the same?", rank);
}

namespace {

// The fewest blocks that a rank's GPU executes at the same time for it.
int blocksPerRank(const JobRoster& roster) {
  std::int64_t least = std::numeric_limits<int>::max();
  for (int rank = 0; rank < roster.ranks(); ++rank)
    if (const PeerInfo& peer = roster.peers[static_cast<std::size_t>(rank)]; peer.peer.gpu != 0)
      least = std::min(least, peer.gpuBlocks / roster.ranksOnGpuOf(rank));
  return static_cast<int>(std::max<std::int64_t>(least, 1));
}

// How many of the plan's channels collectives use. A channel is work for a block of a GPU, and all blocks of ranks that share one run
// at the same time. On a host it is work for a core: a rank with fewer cores than channels would only make its channels take turns.
int channelsToUse(const plan::Plan& plan, const JobRoster& roster, const Settings& settings,
                  const CommConfig& config) {
  const int planned = plan.connections.nChannels();
  if (roster.hasGpus())
    return std::min({planned, blocksPerRank(roster), config.maxCtas > 0 ? config.maxCtas : planned});
  const auto asked =
      std::max({settings.integer(Setting::kMinNChannels), settings.integer(Setting::kMinNRings),
                std::int64_t{config.minCtas}, std::int64_t{0}});
  const auto scarcest =
      std::min_element(roster.cores.begin(), roster.cores.end(),
                       [](const HostCores& a, const HostCores& b) { return a.perRank < b.perRank; });
  int wanted = std::max(scarcest->perRank, static_cast<int>(asked));
  if (config.maxCtas > 0) wanted = std::min(wanted, config.maxCtas);
  return std::min(wanted, planned);
}

// NCCL_PROTO without LL128 where its lists do not name that: those that exclude others, and the one for functions that have none.
std::string withoutLl128(const std::string& protocols) {
  std::vector<std::string> lists;
  bool hasDefault = false;
  std::istringstream all(protocols);
  for (std::string list; std::getline(all, list, ';');) {
    const std::size_t colon = list.find(':');
    hasDefault = hasDefault || colon == std::string::npos;
    const bool excludes = list.find('^', colon == std::string::npos ? 0 : colon) != std::string::npos;
    if (excludes && list.find("LL128") == std::string::npos) list += ",LL128";
    lists.push_back(std::move(list));
  }
  if (!hasDefault) lists.insert(lists.begin(), "^LL128");
  return fmt::format("{}", fmt::join(lists, ";"));
}

// Whether the settings leave it to the plan which GPUs use each other's memory.
bool allowsP2p(const Settings& settings) {
  return settings.integer(Setting::kP2pDisable) == 0 &&
         (!settings.isSet(Setting::kP2pLevel) || settings.text(Setting::kP2pLevel) == "SYS");
}

}  // namespace

Settings settingsForPlan(const Settings& settings, bool onGpus) {
  return onGpus && !allowsP2p(settings) ? withoutUnaskedLl128(settings) : settings;
}

Settings withoutUnaskedLl128(const Settings& settings) {
  Settings own = settings;
  const std::string& asked = settings.text(Setting::kProto);
  if (const std::string text = withoutLl128(asked); text != asked)
    own.set(spec(Setting::kProto), text,
            settings.isSet(Setting::kProto) ? settings.origin(Setting::kProto) : "GPUs without P2P");
  return own;
}

CommPlan::CommPlan(std::span<const PeerInfo> peers, int rank, plan::Plan job, std::uint64_t device,
                   int channelsInUse, HostCopies within, int threads)
    : plan(std::move(job)),
      choice(plan.connections, plan.reach),
      busId(device),
      copies(std::move(within)),
      copyThreads(threads),
      channels(channelsInUse),
      scope(linkScope(plan, channels, !Mailboxes::possible(peers, choice) && !anyGpu(peers))),
      links(planLinks(plan, rank, scope)) {}

CommPlan planComm(JoinSteps& steps, bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
                  const JoinRequest& request, const gpu::DeviceFacts* gpu) {
  const Settings settings = settingsForPlan(request.settings, roster.hasGpus());
  const Logger& log = *request.log;
  RankDevices devices{request.membership.device, request.network.name(), {}};
  devices.networks =
      request.network.devices(gpu != nullptr ? gpu::NetworkSlots::pointersOf(*gpu, settings) : 0);
  if (gpu != nullptr) devices.gpu = gpu->busId;
  DescribedHosts hosts = describeHosts(steps, bootstrap, roster, settings, devices);
  return steps.run(InitPart::kGraphs, "planning", [&] {
    plan::Plan plan = planOf(hosts, settings, plansAreShown(log));
    plan::dumpGraphs(plan, settings, roster.rank);
    if (roster.ownCores().oversubscribed) device::Scheduler::instance().setOversubscribed();
    logPlan(log, request.membership.comm, plan, roster.hosts, roster.rank);
    logChunkSize(log, plan, settings);
    if (roster.hosts.ranks.size() > 1)
      log.info(Subsystem::kInit, "Copies within the host: {}", hosts.copies.text());
    const int channels = channelsToUse(plan, roster, settings, request.config);
    return CommPlan(roster.peers, roster.rank, std::move(plan), hosts.busId, channels,
                    std::move(hosts.copies), copyThreads(roster, settings, request.membership.device));
  });
}

}  // namespace xylem::comm
