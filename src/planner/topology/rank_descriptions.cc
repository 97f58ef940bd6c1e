#include "planner/topology/rank_descriptions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "planner/topology/attributes.h"
#include "planner/topology/complete.h"
#include "planner/topology/fuse.h"

namespace xylem {
namespace {

void collect(const Document& document, ElementId id, std::string_view name, std::vector<ElementId>& found) {
  if (document[id].name == name) found.push_back(id);
  for (const ElementId child : document[id].children) collect(document, child, name, found);
}

// In document order.
std::vector<ElementId> elementsNamed(const Document& document, std::string_view name) {
  std::vector<ElementId> found;
  collect(document, document.root(), name, found);
  return found;
}

int numberOf(const Document& document, ElementId gpu, std::string_view attribute, int lowest) {
  return static_cast<int>(
      Attributes(document, gpu).integer(attribute, lowest, std::numeric_limits<int>::max()));
}

// What one rank describes, as a copy: the trimmed document (planner/topology/fuse.h) without making it of the whole.
// The network devices are the same for every rank, so what they keep is found once.
class View {
 public:
  explicit View(const Document& host) : host_(host), kept_(host.size(), false) {
    const std::vector<ElementId> nets = elementsNamed(host, "net");
    const bool marked = std::any_of(nets.begin(), nets.end(), [&](ElementId net) { return isKept(net); });
    for (const ElementId net : nets)
      if (marked ? isKept(net) : host.attribute(net, "dev") != nullptr) mark(net, kept_);
  }

  Document of(ElementId gpu, int rank) const {
    Document own(host_.file(), host_[host_.root()].line);
    own.removeAttribute(own.root(), "version");
    std::vector<bool> kept = kept_;
    mark(gpu, kept);
    copyInto(own, own.root(), host_.root(), kept, gpu, rank);
    return own;
  }

 private:
  bool isKept(ElementId net) const {
    const std::string* keep = host_.attribute(net, "keep");
    return keep != nullptr && *keep == "1";
  }

  // The element and all above it.
  void mark(ElementId id, std::vector<bool>& kept) const {
    for (; id != kNoElement && !kept[static_cast<std::size_t>(id)]; id = host_[id].parent)
      kept[static_cast<std::size_t>(id)] = true;
  }

  void copyInto(Document& own, ElementId to, ElementId from, const std::vector<bool>& kept, ElementId gpu,
                int rank) const {
    for (const auto& [key, value] : host_[from].attributes)
      if (key != "keep") own.set(to, key, value);
    if (from == gpu) own.set(to, "rank", std::to_string(rank));
    for (const ElementId child : host_[from].children) {
      const Element& element = host_[child];
      const bool removable = element.name == "pci" || element.name == "cpu";
      if (removable && !kept[static_cast<std::size_t>(child)]) continue;
      copyInto(own, own.add(to, element.name, element.line), child, kept, gpu, rank);
    }
  }

  const Document& host_;
  std::vector<bool> kept_;  // by the network devices
};

Document fuseRanks(const Document& host, const std::vector<ElementId>& gpus) {
  const View view(host);
  std::vector<Document> described;
  described.reserve(gpus.size());
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    described.push_back(view.of(gpus[rank], static_cast<int>(rank)));
  return fuse(described);
}

// By `dev`; a device of -1 is one to ignore.
std::map<int, ElementId> gpusByNumber(const Document& host) {
  std::map<int, ElementId> found;
  for (const ElementId gpu : elementsNamed(host, "gpu")) {
    const int dev = numberOf(host, gpu, "dev", -1);
    if (dev < 0) continue;
    const auto [first, isNew] = found.emplace(dev, gpu);
    if (!isNew)
      throw InputError(host.location(gpu),
                       fmt::format("a second gpu with dev=\"{}\" (the first is in line {})", dev,
                                   host[first->second].line),
                       "a number of its own on every gpu");
  }
  return found;
}

std::string listOf(const std::map<int, ElementId>& gpus) {
  std::string text;
  for (const auto& [dev, gpu] : gpus) text += fmt::format("{}{}", text.empty() ? "" : ", ", dev);
  return text.empty() ? "no GPU: the file describes none" : "one of " + text;
}

}  // namespace

Document describeAsRanksWould(const Document& host, std::span<const int> gpus) {
  const Document complete = completeAttributes(host);
  const std::map<int, ElementId> known = gpusByNumber(complete);
  const SourceLocation file{host.file(), 0};
  if (gpus.empty()) throw InputError(file, "an empty list of GPUs", "at least one GPU to use");
  std::vector<ElementId> used;
  for (const int dev : gpus) {
    const auto found = known.find(dev);
    if (found == known.end())
      throw InputError(file, fmt::format("GPU {} in the list of GPUs to use", dev), listOf(known));
    if (std::find(used.begin(), used.end(), found->second) != used.end())
      throw InputError(file, fmt::format("GPU {} twice in the list of GPUs to use", dev),
                       "every GPU at most once");
    used.push_back(found->second);
  }
  return fuseRanks(complete, used);
}

Document describeAsRanksWould(const Document& host) {
  const Document complete = completeAttributes(host);
  std::vector<ElementId> gpus = elementsNamed(complete, "gpu");
  const auto unranked = [&](ElementId gpu) { return complete.attribute(gpu, "rank") == nullptr; };
  if (gpus.empty()) throw InputError({host.file(), 0}, "no gpu of the job", "at least one gpu element");
  if (!std::all_of(gpus.begin(), gpus.end(), unranked)) {
    std::erase_if(gpus, unranked);
    std::stable_sort(gpus.begin(), gpus.end(), [&](ElementId a, ElementId b) {
      return numberOf(complete, a, "rank", 0) < numberOf(complete, b, "rank", 0);
    });
    for (std::size_t rank = 0; rank < gpus.size(); ++rank)
      if (const int found = numberOf(complete, gpus[rank], "rank", 0); found != static_cast<int>(rank))
        throw InputError(complete.location(gpus[rank]), fmt::format("a gpu with rank=\"{}\"", found),
                         fmt::format("each rank from 0 to {} on one gpu", gpus.size() - 1));
  }
  return fuseRanks(complete, gpus);
}

}  // namespace xylem
