#include "planner/topology/fuse.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "planner/topology/attributes.h"
#include "planner/topology/complete.h"

namespace xylem::topology {
namespace {

// Returns whether trimming removes elements of this name that hold nothing kept.
bool isTrimmed(const std::string& name, const rules::RuleSet& rules) {
  return name == "pci" || name == "cpu" || (rules.trimsNets && (name == "nic" || name == "net"));
}

// Trims below `id`; returns whether `id` or an element below it is kept. Recursion is as deep as the
// document, which XmlLimits::depth bounds.
bool trim(Document& document, ElementId id, const rules::RuleSet& rules) {
  const std::string* keep = document.attribute(id, "keep");
  if (keep != nullptr && *keep == "1") {
    document.removeAttribute(id, "keep");
    return true;
  }
  const std::vector<ElementId> children = document[id].children;  // a copy: the walk changes the original
  std::vector<ElementId> leaving;
  bool anyKept = false;
  for (const ElementId child : children) {
    const bool kept = trim(document, child, rules);
    anyKept = anyKept || kept;
    if (!kept && isTrimmed(document[child].name, rules)) leaving.push_back(child);
  }
  document.detachChildren(id, leaving);
  return anyKept;
}

void copyAttributes(const Document& from, ElementId source, Document& to, ElementId target) {
  for (const auto& [key, value] : from[source].attributes) to.set(target, key, value);
}

void appendCopy(const Document& from, ElementId source, Document& to, ElementId parent) {
  const ElementId copy = to.add(parent, from[source].name, from[source].line);
  copyAttributes(from, source, to, copy);
  for (const ElementId child : from[source].children) appendCopy(from, child, to, copy);
}

// A text that is equal for elements that merge: same name, both or neither with children, same attributes in
// any order.
std::string identity(const Element& element) {
  auto attributes = element.attributes;
  std::sort(attributes.begin(), attributes.end());
  std::string text = element.name + (element.children.empty() ? '/' : '>');
  for (const auto& [key, value] : attributes) {  // neither holds a NUL
    text.append(1, '\0').append(key);
    text.append(1, '\0').append(value);
  }
  return text;
}

// Merges the children of `source` into those of `target`. A child finds its equal by the hash of its
// identity, so the work is linear in the size of both documents.
void merge(const Document& from, ElementId source, Document& to, ElementId target) {
  std::unordered_map<std::string, ElementId> present;
  for (const ElementId child : to[target].children)
    present.emplace(identity(to[child]), child);  // the first of equal children wins
  for (const ElementId child : from[source].children) {
    std::string key = identity(from[child]);
    if (const auto same = present.find(key); same != present.end()) {
      merge(from, child, to, same->second);
    } else {
      appendCopy(from, child, to, target);
      present.emplace(std::move(key), to[target].children.back());
    }
  }
}

void collect(const Document& document, ElementId id, std::string_view name, std::vector<ElementId>& found) {
  if (document[id].name == name) found.push_back(id);
  for (const ElementId child : document[id].children) collect(document, child, name, found);
}

// All elements called `name`, in document order.
std::vector<ElementId> elementsNamed(const Document& document, std::string_view name) {
  std::vector<ElementId> found;
  collect(document, document.root(), name, found);
  return found;
}

int numberOf(const Document& document, ElementId gpu, std::string_view attribute, int lowest) {
  return static_cast<int>(
      Attributes(document, gpu).integer(attribute, lowest, std::numeric_limits<int>::max()));
}

// Makes the description of each rank of a host: the same document as marking the rank's GPU and all network
// devices and calling trimToKept, but without a copy of the whole host per rank. The network devices are the
// same for every rank, so the elements above them are found once.
class RankDescriber {
 public:
  RankDescriber(const Document& host, const rules::RuleSet& rules)
      : host_(host), rules_(rules), kept_(host.size(), false) {
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

  // Marks the element and all elements above it.
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
      if (isTrimmed(element.name, rules_) && !kept[static_cast<std::size_t>(child)]) continue;
      copyInto(own, own.add(to, element.name, element.line), child, kept, gpu, rank);
    }
  }

  const Document& host_;
  const rules::RuleSet& rules_;
  std::vector<bool> kept_;  // by element: a network device of the job, or above one
};

Document fuseRanks(const Document& host, const std::vector<ElementId>& gpus, const rules::RuleSet& rules) {
  const RankDescriber describer(host, rules);
  std::vector<Document> described;
  described.reserve(gpus.size());
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    described.push_back(describer.of(gpus[rank], static_cast<int>(rank)));
  return fuse(described);
}

// The gpu elements by `dev`; NCCL ignores a device of -1.
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

void trimToKept(Document& document, const rules::RuleSet& rules) { trim(document, document.root(), rules); }

Document fuse(const std::vector<Document>& documents) {
  if (documents.empty()) return Document();
  const Document& first = documents.front();
  Document fused(first.file(), first[first.root()].line);
  fused.removeAttribute(fused.root(), "version");
  copyAttributes(first, first.root(), fused, fused.root());
  for (const ElementId child : first[first.root()].children) appendCopy(first, child, fused, fused.root());
  for (auto next = documents.begin() + 1; next != documents.end(); ++next)
    merge(*next, next->root(), fused, fused.root());
  return fused;
}

Document describeAsRanksWould(const Document& host, std::span<const int> gpus, const rules::RuleSet& rules) {
  const Document complete = completeAttributes(host);
  const std::map<int, ElementId> known = gpusByNumber(complete);
  const SourceLocation file{host.file(), 0};
  if (gpus.empty()) throw InputError(file, "an empty list of GPUs", "at least one GPU to use");
  std::vector<ElementId> used;
  for (const int dev : gpus) {
    const auto found = known.find(dev);
    if (found == known.end())
      throw InputError(file, fmt::format("GPU {} in the list of GPUs to use", dev), listOf(known));
    if (!rules.ranksShareGpus && std::find(used.begin(), used.end(), found->second) != used.end())
      throw InputError(
          file, fmt::format("GPU {} twice in the list of GPUs to use", dev),
          rules.readsMultiRank
              ? "every GPU at most once; NCCL_MULTI_RANK_GPU_ENABLE=1 allows several ranks on one"
              : fmt::format("every GPU at most once: NCCL {} does not let ranks share one",
                            rules::versionText(rules.version)));
    used.push_back(found->second);
  }
  return fuseRanks(complete, used, rules);
}

Document describeAsRanksWould(const Document& host, const rules::RuleSet& rules) {
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
  return fuseRanks(complete, gpus, rules);
}

}  // namespace xylem::topology
