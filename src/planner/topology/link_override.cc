#include "planner/topology/link_override.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "planner/topology/attributes.h"
#include "planner/topology/bandwidths.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem::topology {
namespace {

// The form that an override has to have.
std::string expected() {
  return fmt::format("CPU-CPU=GB/s, or a device's bus id, as 0000:1b:00.0=50, with GB/s above 0, at most {}",
                     kMaxOverride);
}

// All elements below the root that satisfy `wanted`, in document order.
template <typename Wanted>
std::vector<ElementId> elementsThat(const Document& document, const Wanted& wanted) {
  std::vector<ElementId> found;
  std::vector<ElementId> open{document.root()};
  while (!open.empty()) {
    const ElementId id = open.back();
    open.pop_back();
    if (wanted(id)) found.push_back(id);
    const auto& children = document[id].children;
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  return found;
}

// Returns what the override is about.
std::string subjectOf(const Document& document, const LinkOverride& given) {
  const std::string& name = document[given.element].name;
  if (name == "cpu") return "between CPUs";
  const std::string* bus = document.attribute(given.element, "busid");
  if (name == "pci") return fmt::format("on the link of {}", bus == nullptr ? "a device" : *bus);
  return "over NVLink";
}

}  // namespace

void overrideLink(Document& document, std::string_view text, const SourceLocation& where) {
  const auto refuse = [&] { throw InputError(where, fmt::format("`{}`", text), expected()); };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse();
  const std::string link(text.substr(0, equals));
  const std::string number(text.substr(equals + 1));
  char* end = nullptr;
  const double bandwidth = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(bandwidth > 0 && bandwidth <= kMaxOverride)) refuse();
  std::vector<ElementId> elements;
  if (link == "CPU-CPU") {
    elements = elementsThat(document, [&](ElementId id) { return document[id].name == "cpu"; });
    if (elements.size() < 2)
      throw InputError(where, fmt::format("`{}`", text), "a machine of two or more CPUs");
  } else if (const auto wanted = parseBusId(link)) {
    elements = elementsThat(document, [&](ElementId id) {
      const std::string* bus = document[id].name == "pci" ? document.attribute(id, "busid") : nullptr;
      return bus != nullptr && parseBusId(*bus) == wanted;
    });
    if (elements.empty())
      throw InputError(where, fmt::format("`{}`, which no device has", link), "a busid of the description");
  } else {
    refuse();
  }
  for (const ElementId element : elements) document.set(element, "bw", number);
}

std::vector<std::string> overrideTexts(const Document& document,
                                       const std::shared_ptr<const rules::RuleSet>& rules) {
  const auto overridden = elementsThat(document, [&](ElementId id) {
    return document[id].name != "c2c" && document.attribute(id, "bw") != nullptr;
  });
  std::vector<std::string> texts;
  if (overridden.empty()) return texts;
  const Document completed = completeForJob(document, *rules);
  const System system = buildSystem(completed, rules);
  for (const LinkOverride& given : system.overrides()) {
    const int line = completed[given.element].line;
    std::string text = fmt::format("{:g} GB/s {} instead of the {:g} of NCCL's rule (bw{})", given.bandwidth,
                                   subjectOf(completed, given), given.byRule,
                                   line > 0 ? fmt::format(", {}:{}", completed.file(), line) : "");
    // CPUs have the same override as a rule, each in a line of its own: the first stands for all.
    const std::string start = text.substr(0, text.find(" (bw"));
    if (std::none_of(texts.begin(), texts.end(), [&](const std::string& t) { return t.starts_with(start); }))
      texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace xylem::topology
