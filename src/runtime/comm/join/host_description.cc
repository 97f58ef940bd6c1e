#include "runtime/comm/join/host_description.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/settings.h"
#include "planner/rules/changes.h"
#include "planner/topology/detect.h"
#include "planner/topology/fuse.h"
#include "runtime/sockets/secret.h"

namespace xylem::comm {
namespace {

bool isHostDevice(const topology::Document& document, topology::ElementId gpu) {
  const std::string* host = document.attribute(gpu, "host");
  return host != nullptr && *host == "1";
}

// All elements called `name`, in document order.
std::vector<topology::ElementId> elementsNamed(const topology::Document& document, const std::string& name) {
  std::vector<topology::ElementId> found;
  std::vector<topology::ElementId> open{document.root()};
  while (!open.empty()) {
    const topology::ElementId id = open.back();
    open.pop_back();
    if (document[id].name == name) found.push_back(id);
    const auto& children = document[id].children;
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  return found;
}

// Ranks that are threads of one process join at the same time and see the same machine: the first one detects
// it for all. Later ranks detect it again, as interfaces come and go.
class RecentDetection {
 public:
  topology::Document of(const topology::DetectOptions& options) {
    const std::lock_guard lock(mutex_);  // the others wait for the first one's result
    const Key key{options.hostDevices, options.hostId, options.interfaces, options.networks,
                  options.gpus != nullptr};
    const auto now = Clock::now();
    if (!key_ || *key_ != key || now - detected_ > kLifetime) {
      document_ = topology::detectTopology(options);
      key_ = key;
      detected_ = Clock::now();
    }
    return document_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Key =
      std::tuple<int, std::string, std::string, std::optional<std::vector<topology::NetDevice>>, bool>;
  static constexpr std::chrono::milliseconds kLifetime{500};
  std::mutex mutex_;
  std::optional<Key> key_;
  topology::Document document_;
  Clock::time_point detected_;
};

topology::Document describeMachine(const Settings& settings, const LocalPlacement& placement) {
  if (settings.isSet(Setting::kTopoFile)) return topology::readTopology(settings.text(Setting::kTopoFile));
  static auto& recent = *std::make_unique<RecentDetection>().release();  // used until the program ends
  topology::DetectOptions options;
  std::unique_ptr<topology::GpuSource> gpus;
  if (placement.gpu.empty()) {
    options.hostDevices =
        std::max(placement.localRanks, static_cast<int>(settings.integer(Setting::kHostDevices)));
  } else {
    gpus = topology::gpuSourceOf("/");
    options.gpus = gpus.get();
    options.rules = rules::rulesOf(settings);
  }
  options.hostId = settings.text(Setting::kHostId);
  options.interfaces = settings.text(Setting::kSocketIfname);
  options.networks = placement.networks;
  return recent.of(options);
}

// Gives a machine without NICs the one that NCCL would find there, too: an interface for sockets. Ranks of other hosts reach it
// over that, whatever the file says.
void ensureNetwork(topology::Document& document) {
  const std::vector<topology::ElementId> cpus = elementsNamed(document, "cpu");
  if (cpus.empty() || !elementsNamed(document, "net").empty()) return;
  topology::ElementId nic = document.child(cpus.front(), "nic");
  if (nic == topology::kNoElement) nic = document.add(cpus.front(), "nic");
  const topology::ElementId net = document.add(nic, "net");
  const std::pair<const char*, const char*> attributes[] = {
      {"name", "sockets"}, {"dev", "0"},    {"latency", "0.000000"}, {"speed", "10000"},
      {"port", "0"},       {"guid", "0x0"}, {"maxconn", "65536"},    {"gdr", "0"}};
  for (const auto& [name, value] : attributes) document.set(net, name, value);
}

topology::ElementId chooseGpu(const topology::Document& document,
                              const std::vector<topology::ElementId>& gpus, const LocalPlacement& placement) {
  for (const topology::ElementId gpu : gpus) {
    const std::string* busId = document.attribute(document[gpu].parent, "busid");
    if (!isHostDevice(document, gpu) && busId != nullptr && busIdNumber(*busId) == busIdNumber(placement.gpu))
      return gpu;
  }
  throw Error(ResultCode::kSystemError,
              "rank {}: its GPU {} has the bus id {}, and {} describes no such gpu; NVIDIA's "
              "libnvidia-ml.so.1, which "
              "lists them, or a file in NCCL_TOPO_FILE has to",
              placement.rank, placement.device, placement.gpu, document.file());
}

topology::ElementId chooseDevice(const topology::Document& document,
                                 const std::vector<topology::ElementId>& gpus,
                                 const LocalPlacement& placement) {
  if (!placement.gpu.empty()) return chooseGpu(document, gpus, placement);
  std::vector<topology::ElementId> hostDevices;
  for (const topology::ElementId gpu : gpus)
    if (isHostDevice(document, gpu)) hostDevices.push_back(gpu);
  if (!hostDevices.empty()) {
    if (static_cast<std::size_t>(placement.localRank) < hostDevices.size())
      return hostDevices[static_cast<std::size_t>(placement.localRank)];
    throw Error(ResultCode::kInvalidUsage,
                "{} describes {} host devices; {} ranks on this host need one each", document.file(),
                hostDevices.size(), placement.localRanks);
  }
  for (const topology::ElementId gpu : gpus) {
    const std::string* dev = document.attribute(gpu, "dev");
    if (dev != nullptr && *dev == std::to_string(placement.device)) return gpu;
  }
  throw Error(ResultCode::kInvalidUsage,
              "{} describes no gpu with dev=\"{}\", the device of rank {}; it has {} gpus", document.file(),
              placement.device, placement.rank, gpus.size());
}

}  // namespace

RankDescription describeForRank(const Settings& settings, const LocalPlacement& placement) {
  topology::Document document = describeMachine(settings, placement);
  const std::vector<topology::ElementId> gpus = elementsNamed(document, "gpu");
  const topology::ElementId mine = chooseDevice(document, gpus, placement);
  for (const topology::ElementId gpu : gpus) {
    document.removeAttribute(gpu, "rank");
    document.removeAttribute(gpu, "keep");
  }
  document.set(mine, "rank", std::to_string(placement.localRank));
  document.set(mine, "keep", "1");
  ensureNetwork(document);
  for (const topology::ElementId net : elementsNamed(document, "net")) document.set(net, "keep", "1");

  RankDescription description;
  description.hostDevice = isHostDevice(document, mine);
  if (const std::string* busId = document.attribute(document[mine].parent, "busid"))
    description.busId = *busId;
  topology::trimToKept(document, *rules::rulesOf(settings));
  description.xml = topology::writeTopology(document);
  return description;
}

std::uint64_t busIdNumber(const std::string& busId) {
  std::uint64_t number = 0;
  for (const char c : busId) {
    if (c >= '0' && c <= '9')
      number = number * 16 + static_cast<std::uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      number = number * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
      number = number * 16 + static_cast<std::uint64_t>(c - 'A' + 10);
  }
  return number;
}

namespace {

// Calls `visit(document, net, dev)` for each network device that has a number.
template <typename Visit>
void eachNet(std::vector<topology::Document>& documents, Visit&& visit) {
  for (topology::Document& document : documents)
    for (const topology::ElementId net : elementsNamed(document, "net"))
      if (const std::string* dev = document.attribute(net, "dev")) visit(document, net, std::string(*dev));
}

// A network device reaches memory of GPUs if all ranks say so: one on a host device has no GPU, and settings may differ. In the fused
// description, elements that differ in an attribute would be two devices.
void agreeOnGdr(std::vector<topology::Document>& documents) {
  std::set<std::string> without;
  eachNet(documents,
          [&](const topology::Document& document, topology::ElementId net, const std::string& dev) {
            const std::string* gdr = document.attribute(net, "gdr");
            if (gdr != nullptr && *gdr == "0") without.insert(dev);
          });
  eachNet(documents, [&](topology::Document& document, topology::ElementId net, const std::string& dev) {
    if (without.contains(dev)) document.set(net, "gdr", "0");
  });
}

}  // namespace

topology::Document fuseDescriptions(std::span<const std::string> xmls) {
  std::vector<topology::Document> documents;
  for (std::size_t i = 0; i < xmls.size(); ++i)
    documents.push_back(topology::parseTopology(xmls[i], fmt::format("(local rank {})", i)));
  agreeOnGdr(documents);
  return topology::fuse(documents);
}

void forgetHost(topology::Document& description) {
  const std::vector<topology::ElementId> cpus = elementsNamed(description, "cpu");
  std::set<std::string> marks;
  for (const topology::ElementId cpu : cpus)
    if (const std::string* mark = description.attribute(cpu, "host_hash")) marks.insert(*mark);
  if (marks.size() > 1) return;
  for (const topology::ElementId cpu : cpus) description.removeAttribute(cpu, "host_hash");
}

namespace {

struct Header {
  std::uint64_t key = 0;
  std::uint64_t descriptionBytes = 0;
  std::uint64_t copiesBytes = 0;
};

}  // namespace

std::string toBytes(const HostReport& report) {
  const std::string copies = toText(report.copies);
  const Header header{report.key, report.description.size(), copies.size()};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + report.description + copies + report.graphs;
}

HostReport reportFromBytes(std::string_view bytes) {
  Header header;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() < sizeof header || header.descriptionBytes > bytes.size() - sizeof header ||
      header.copiesBytes > bytes.size() - sizeof header - header.descriptionBytes)
    throw Error(ResultCode::kRemoteError,
                "a rank described its host in {} bytes, of which {} are XML and {} choices", bytes.size(),
                header.descriptionBytes, header.copiesBytes);
  bytes.remove_prefix(sizeof header);
  const std::string_view behind = bytes.substr(header.descriptionBytes);
  return {header.key, std::string(bytes.substr(0, header.descriptionBytes)),
          std::string(behind.substr(header.copiesBytes)),
          copiesFromText(behind.substr(0, header.copiesBytes))};
}

std::uint64_t searchKey(const Settings& settings) {
  std::string text;
  for (const SettingSpec& spec : settingSpecs())
    if (settings.isSet(spec.id) && spec.kind != SettingKind::kSecret)
      text += fmt::format("{}={}\n", spec.name, settings.text(spec.id));
  std::uint8_t digest[16];
  sockets::hash(digest, sizeof digest, text.data(), text.size());
  std::uint64_t key = 0;
  std::memcpy(&key, digest, sizeof key);
  return key;
}

}  // namespace xylem::comm
