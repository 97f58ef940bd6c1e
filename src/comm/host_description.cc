#include "comm/host_description.h"

#include <algorithm>

#include "topology/detect.h"
#include "topology/fuse.h"

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

Document describeMachine(const Settings& settings, int localRanks) {
  if (settings.isSet(Setting::kTopoFile)) return readTopology(settings.text(Setting::kTopoFile));
  DetectOptions options;
  options.hostDevices = std::max(localRanks, static_cast<int>(settings.integer(Setting::kHostDevices)));
  options.hostId = settings.text(Setting::kHostId);
  options.interfaces = settings.text(Setting::kSocketIfname);
  return detectTopology(options);
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
  Document document = describeMachine(settings, seat.localRanks);
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

}  // namespace xylem
