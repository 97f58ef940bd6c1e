#include "runtime/comm/join/host_description.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "planner/topology/detect.h"
#include "planner/topology/fuse.h"

namespace xylem {
namespace {

bool isHostDevice(const Document& document, ElementId gpu) {
  const std::string* host = document.attribute(gpu, "host");
  return host != nullptr && *host == "1";
}

// All elements called `name` that can be reached from the root, in document order.
std::vector<ElementId> elementsNamed(const Document& document, const std::string& name) {
  std::vector<ElementId> found;
  std::vector<ElementId> open{document.root()};
  while (!open.empty()) {
    const ElementId id = open.back();
    open.pop_back();
    if (document[id].name == name) found.push_back(id);
    const auto& children = document[id].children;
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  return found;
}

// Ranks that are threads of one process join at the same time and see the same machine: who comes first looks
// for all of them. Not for later ones: interfaces come and go.
class RecentDetection {
 public:
  Document of(const DetectOptions& options) {
    const std::lock_guard lock(mutex_);  // the others wait rather than look, too
    const Key key{options.hostDevices, options.hostId, options.interfaces, options.networks};
    const auto now = Clock::now();
    if (!key_ || *key_ != key || now - detected_ > kLifetime) {
      document_ = detectTopology(options);
      key_ = key;
      detected_ = Clock::now();
    }
    return document_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::tuple<int, std::string, std::string, std::optional<std::vector<NetDevice>>>;
  static constexpr std::chrono::milliseconds kLifetime{500};
  std::mutex mutex_;
  std::optional<Key> key_;
  Document document_;
  Clock::time_point detected_;
};

Document describeMachine(const Settings& settings, const RankSeat& seat) {
  if (settings.isSet(Setting::kTopoFile)) return readTopology(settings.text(Setting::kTopoFile));
  static RecentDetection recent;
  DetectOptions options;
  options.hostDevices = std::max(seat.localRanks, static_cast<int>(settings.integer(Setting::kHostDevices)));
  options.hostId = settings.text(Setting::kHostId);
  options.interfaces = settings.text(Setting::kSocketIfname);
  options.networks = seat.networks;
  return recent.of(options);
}

ElementId chooseDevice(const Document& document, const std::vector<ElementId>& gpus, const RankSeat& seat) {
  std::vector<ElementId> hostDevices;
  for (const ElementId gpu : gpus)
    if (isHostDevice(document, gpu)) hostDevices.push_back(gpu);
  if (!hostDevices.empty()) {
    if (static_cast<std::size_t>(seat.localRank) < hostDevices.size())
      return hostDevices[static_cast<std::size_t>(seat.localRank)];
    throw Error(ResultCode::kInvalidUsage,
                "{} describes {} host devices; {} ranks on this host need one each", document.file(),
                hostDevices.size(), seat.localRanks);
  }
  for (const ElementId gpu : gpus) {
    const std::string* dev = document.attribute(gpu, "dev");
    if (dev != nullptr && *dev == std::to_string(seat.device)) return gpu;
  }
  throw Error(ResultCode::kInvalidUsage,
              "{} describes no gpu with dev=\"{}\", the device of rank {}; it has {} gpus", document.file(),
              seat.device, seat.rank, gpus.size());
}

}  // namespace

RankDescription describeForRank(const Settings& settings, const RankSeat& seat) {
  Document document = describeMachine(settings, seat);
  const std::vector<ElementId> gpus = elementsNamed(document, "gpu");
  const ElementId mine = chooseDevice(document, gpus, seat);
  for (const ElementId gpu : gpus) document.removeAttribute(gpu, "rank");
  document.set(mine, "rank", std::to_string(seat.localRank));
  document.set(mine, "keep", "1");
  for (const ElementId net : elementsNamed(document, "net")) document.set(net, "keep", "1");

  RankDescription description;
  description.hostDevice = isHostDevice(document, mine);
  if (const std::string* busId = document.attribute(document[mine].parent, "busid"))
    description.busId = *busId;
  trimToKept(document);
  description.xml = writeTopology(document);
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

Document fuseDescriptions(std::span<const std::string> xmls) {
  std::vector<Document> documents;
  for (std::size_t i = 0; i < xmls.size(); ++i)
    documents.push_back(parseTopology(xmls[i], fmt::format("(local rank {})", i)));
  return fuse(documents);
}

void forgetHost(Document& description) {
  const std::vector<ElementId> cpus = elementsNamed(description, "cpu");
  std::set<std::string> marks;
  for (const ElementId cpu : cpus)
    if (const std::string* mark = description.attribute(cpu, "host_hash")) marks.insert(*mark);
  if (marks.size() > 1) return;
  for (const ElementId cpu : cpus) description.removeAttribute(cpu, "host_hash");
}

}  // namespace xylem
