// Checks how many elements a file has. NCCL refuses a file with too many; the finding says what the file can do
// without, and how many elements that saves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "insight/lint/checks.h"

namespace xylem::lint {
namespace {

// All versions that are known, 2.25 to 2.30, stop at as many, the root among them.
constexpr std::size_t kMaxNcclElements = 256;
constexpr std::size_t kMaxNamed = 6;
constexpr const char* kNvSwitchClass = "0x068000";

using topology::ElementId;

class Excess {
 public:
  explicit Excess(const topology::Document& document) : document_(document) {
    mergeableLinks();
    unusedPlaces(document.root());
    slowNics();
  }

  // A part that the file can do without, and how many elements that saves.
  struct Saving {
    std::size_t elements = 0;
    std::string how;
  };
  const std::vector<Saving>& savings() const { return savings_; }

  std::string counts() const {
    std::map<std::string, std::size_t> byName;
    for (std::size_t id = 0; id < document_.size(); ++id)
      ++byName[document_[static_cast<ElementId>(id)].name];
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [name, count] : byName) sorted.emplace_back(count, name);
    std::sort(sorted.rbegin(), sorted.rend());
    std::vector<std::string> words;
    for (const auto& [count, name] : sorted) words.push_back(fmt::format("{} {}", count, name));
    return fmt::format("{}", fmt::join(words, ", "));
  }

 private:
  void add(std::size_t elements, std::string how) {
    if (elements > 0) savings_.push_back({elements, std::move(how)});
  }

  // Links of a GPU to one end count together, and all NVSwitches are one end.
  void mergeableLinks() {
    std::size_t saved = 0;
    for (const ElementId gpu : elementsCalled(document_, "gpu")) {
      std::set<std::string> ends;
      for (const ElementId link : document_[gpu].children) {
        if (document_[link].name != "nvlink") continue;
        const bool nvSwitch = document_.text(link, "tclass").starts_with(kNvSwitchClass);
        if (!ends.insert(nvSwitch ? "NVSwitch" : document_.text(link, "target")).second) ++saved;
      }
    }
    add(saved,
        "give each gpu one nvlink for all NVSwitches, and one for each other end, with the sum of the "
        "counts: "
        "the plan stays the same");
  }

  std::size_t sizeOf(ElementId element) const {
    std::size_t size = 1;
    for (const ElementId child : document_[element].children) size += sizeOf(child);
    return size;
  }

  bool holdsDevice(ElementId element) const {
    const std::string& name = document_[element].name;
    return name == "gpu" || name == "net" ||
           std::any_of(document_[element].children.begin(), document_[element].children.end(),
                       [&](ElementId child) { return holdsDevice(child); });
  }

  // pci elements with neither GPU nor NIC inside, each with all it holds.
  std::size_t emptyInside(ElementId element) const {
    if (document_[element].name == "pci" && !holdsDevice(element)) return sizeOf(element);
    std::size_t size = 0;
    for (const ElementId child : document_[element].children) size += emptyInside(child);
    return size;
  }
  void unusedPlaces(ElementId root) {
    add(emptyInside(root), "remove the pci elements that hold neither a gpu nor a net");
  }

  void slowNics() {
    const std::vector<ElementId> nets = elementsCalled(document_, "net");
    std::int64_t fastest = 0;
    for (const ElementId net : nets)
      fastest = std::max(fastest, numberOf(document_, net, "speed").value_or(0));
    std::vector<std::string> names;
    std::size_t saved = 0;
    for (const ElementId net : nets) {
      if (numberOf(document_, net, "speed").value_or(0) >= fastest) continue;
      // The highest element that holds nothing but this net.
      ElementId top = net;
      while (document_[top].parent != topology::kNoElement &&
             document_[document_[top].parent].children.size() == 1)
        top = document_[top].parent;
      saved += sizeOf(top);
      names.push_back(document_.text(net, "name"));
    }
    const std::size_t count = names.size();
    if (count > kMaxNamed) {
      names.resize(kMaxNamed);
      names.push_back(fmt::format("{} more", count - kMaxNamed));
    }
    add(saved, fmt::format("remove NICs that jobs do without, with their pci; slower than the fastest: {}",
                           fmt::join(names, ", ")));
  }

  const topology::Document& document_;
  std::vector<Saving> savings_;
};

}  // namespace

void checkLimits(const topology::Document& document, Findings& findings) {
  if (document.size() <= kMaxNcclElements) return;
  const std::size_t excess = document.size() - kMaxNcclElements;
  const Excess what(document);
  std::size_t saved = 0;
  std::string fix;
  for (const Excess::Saving& saving : what.savings()) {
    saved += saving.elements;
    fix += fmt::format("{}{} (saves {})", fix.empty() ? "" : "; ", saving.how, saving.elements);
  }
  if (saved < excess)
    fix += fmt::format("{}{} {} must go: NICs that are near no GPU first, three elements each",
                       fix.empty() ? "" : "; ", excess - saved, saved > 0 ? "more" : "elements");
  fix += "; where NCCL detects the machine itself, NCCL_IB_HCA with fewer NICs helps";
  findings.add(Severity::kWarning, "too-many-elements", 0,
               fmt::format("{} elements ({}): every version of NCCL so far refuses a file with more than {}",
                           document.size(), what.counts(), kMaxNcclElements),
               std::move(fix));
}

}  // namespace xylem::lint
