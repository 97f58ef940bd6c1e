#include "insight/why/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/spelling.h"
#include "planner/topology/attributes.h"

namespace xylem::why {
namespace {

// The number that follows one of the words in the text; -1 if the text has another form.
int numberAfter(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    std::string_view rest = text;
    if (!rest.starts_with(word)) continue;
    rest.remove_prefix(word.size());
    while (rest.starts_with(' ') || rest.starts_with('/')) rest.remove_prefix(1);
    int value = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc() && end == rest.data() + rest.size() && value >= 0) return value;
  }
  return -1;
}

bool isNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
}

bool isBusId(const std::string& text) { return text.find(':') != std::string::npos; }

std::string netList(const plan::Plan& plan, int rank) {
  const topology::System& system = plan.hostOf(rank).system();
  std::string text;
  for (topology::NodeId net : system.nodes(topology::NodeType::kNet)) {
    text += fmt::format("{}nic{}", text.empty() ? "" : ", ", system.net(net).dev);
    if (!system.net(net).name.empty()) text += fmt::format(" ({})", system.net(net).name);
  }
  return text;
}

// The NIC node that holds a NET; kNoNode if there is none.
topology::NodeId nicOf(const topology::System& system, topology::NodeId net) {
  for (const topology::Link& link : system.links(net))
    if (system.type(link.to) == topology::NodeType::kNic) return link.to;
  return topology::kNoNode;
}

topology::NodeId findNet(const topology::System& system, const std::string& text) {
  const std::string name = lowerCase(text);
  const int dev = numberAfter(name, {"nic", "net"});
  const auto bus = isBusId(name) ? topology::parseBusId(name) : std::nullopt;
  for (topology::NodeId net : system.nodes(topology::NodeType::kNet)) {
    if (dev >= 0 ? system.net(net).dev == dev : lowerCase(system.net(net).name) == name) return net;
    const topology::NodeId nic = nicOf(system, net);
    if (bus && nic != topology::kNoNode && system[nic].key.local() == *bus) return net;
  }
  return topology::kNoNode;
}

// The attributes that the planner's rules look at; an AnswerSource shows these alone.
constexpr const char* kTelling[] = {"numaid", "vendor", "busid", "dev",    "name",       "sm",        "speed",
                                    "gdr",    "bw",     "count", "target", "link_speed", "link_width"};

AnswerSource sourceOfElement(const topology::Document& document, topology::ElementId id) {
  if (id == topology::kNoElement) return {document.file(), 0, ""};
  const topology::Element& element = document[id];
  std::string text = "<" + element.name;
  for (const auto& [key, value] : element.attributes)
    if (std::find(std::begin(kTelling), std::end(kTelling), key) != std::end(kTelling) && !value.empty())
      text += fmt::format(" {}=\"{}\"", key, value);
  return {document.file(), element.line, text + ">"};
}

int depth(const topology::Document& document, topology::ElementId id) {
  int levels = 0;
  for (; id != topology::kNoElement; id = document[id].parent) ++levels;
  return levels;
}

// The pci element of the lower of two devices, whose lanes form the link between them.
topology::ElementId pciElement(const topology::Document& document, topology::ElementId a,
                               topology::ElementId b) {
  const topology::ElementId lower = depth(document, a) > depth(document, b) ? a : b;
  const topology::ElementId parent = document[lower].parent;
  return document[lower].name == "pci" || parent == topology::kNoElement || document[parent].name != "pci"
             ? lower
             : parent;
}

// The nvlink or c2c element of a GPU that leads to `other`; the gpu element if there is none.
topology::ElementId nvlinkElement(const topology::Document& document, const topology::System& system,
                                  topology::NodeId gpu, topology::NodeId other) {
  const topology::ElementId element = system[gpu].element;
  for (const topology::ElementId child : document[element].children) {
    if (document[child].name == "c2c" && system.type(other) == topology::NodeType::kCpu) return child;
    const std::string* target = document.attribute(child, "target");
    const std::string* code = document.attribute(child, "tclass");
    if (document[child].name != "nvlink" || target == nullptr || code == nullptr) continue;
    switch (system.type(other)) {
      case topology::NodeType::kGpu:
        if (topology::parseBusId(*target) == system[other].key.local()) return child;
        break;
      case topology::NodeType::kCpu:
        if (topology::pciClass(*code) == topology::PciClass::kCpu) return child;
        break;
      default:
        if (topology::pciClass(*code) != topology::PciClass::kCpu &&
            topology::pciClass(*code) != topology::PciClass::kGpu)
          return child;
    }
  }
  return element;
}

}  // namespace

std::vector<std::string> joinNames(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  for (const std::string& word : words) {
    const bool number = !word.empty() && std::all_of(word.begin(), word.end(),
                                                     [](unsigned char c) { return std::isdigit(c) != 0; });
    const bool kind = !joined.empty() && (joined.back() == "gpu" || joined.back() == "nic" ||
                                          joined.back() == "net" || joined.back() == "dev");
    if (number && kind)
      joined.back() += word;
    else
      joined.push_back(lowerCase(word));
  }
  return joined;
}

int gpuNamed(const plan::Plan& plan, const std::string& text) {
  const std::string name = lowerCase(text);
  const int ranks = plan.job().ranks();
  int rank = numberAfter(name, {"gpu", "rank", ""});
  const int dev = numberAfter(name, {"dev"});
  const auto bus = isBusId(name) ? topology::parseBusId(name) : std::nullopt;
  for (int local = 0; rank < 0 && local < plan.job().shapeOf(0).ranks(); ++local) {
    const int candidate = plan.job().rank(0, local);
    const topology::System& system = plan.hostOf(candidate).system();
    const topology::NodeId gpu = plan.job().gpuOf(candidate);
    if ((dev >= 0 && system.gpu(gpu).dev == dev) || (bus && system[gpu].key.local() == *bus))
      rank = candidate;
  }
  if (rank >= 0 && rank < ranks) return rank;
  std::string expected = ranks == 1 ? "gpu0, the only GPU of the job"
                                    : fmt::format("gpu0 to gpu{}, dev0, or the bus id of a GPU", ranks - 1);
  if (namesNet(plan, text)) expected += "; that is a NIC: name the GPU first";
  throw InputError(kOfQuestion, fmt::format("{} `{}`", isNumber(text) ? "rank" : "GPU", text), expected);
}

topology::NodeId netNamed(const plan::Plan& plan, int rank, const std::string& text) {
  const topology::System& system = plan.hostOf(rank).system();
  const topology::NodeId net = findNet(system, text);
  if (net != topology::kNoNode) return net;
  std::string expected = netList(plan, rank);
  if (expected.empty()) expected = "no NIC at all: the host has none that the job uses";
  std::vector<std::string> names;
  for (topology::NodeId known : system.nodes(topology::NodeType::kNet))
    names.push_back(lowerCase(system.net(known).name));
  const std::string nearest = nearestWord(lowerCase(text), names);
  throw InputError(kOfQuestion, fmt::format("NIC `{}`", text),
                   nearest.empty() ? expected : fmt::format("{}; did you mean {}?", expected, nearest));
}

bool namesNet(const plan::Plan& plan, const std::string& text) {
  return numberAfter(lowerCase(text), {"nic", "net"}) >= 0 ||
         findNet(plan.hostOf(0).system(), text) != topology::kNoNode;
}

int rankOfNode(const plan::Plan& plan, int rank, topology::NodeId gpu) {
  const connect::Job& job = plan.job();
  return job.rankOfGpu(job.hostOf(rank), job.view(rank), job.view(rank).system->position(gpu));
}

std::string gpuName(int rank) { return fmt::format("GPU {}", rank); }

std::string nodeName(const plan::Plan& plan, int rank, topology::NodeId node) {
  return nodeName(plan, rank, plan.hostOf(rank).system(), node);
}

std::string nodeName(const plan::Plan& plan, int rank, const topology::System& system,
                     topology::NodeId node) {
  const std::uint64_t local = system[node].key.local();
  switch (system.type(node)) {
    case topology::NodeType::kGpu:
      return gpuName(plan.job().rank(plan.job().hostOf(rank), system.gpu(node).rank));
    case topology::NodeType::kNet:
      return fmt::format("NET {}", system.net(node).dev);
    case topology::NodeType::kCpu:
      return local == topology::NodeKey::kLocalMask ? "CPU ?" : fmt::format("CPU {}", local);
    case topology::NodeType::kPci:
      return "switch " + topology::busIdText(local);
    case topology::NodeType::kNic:
      return local == 0 ? "virtual NIC" : "NIC " + topology::busIdText(local);
    case topology::NodeType::kNvs:
      return "NVSwitch";
    case topology::NodeType::kGin:
      return fmt::format("GIN {}", local);
    case topology::NodeType::kRma:
      return fmt::format("RMA {}", local);
    case topology::NodeType::kCxb:
      return "C2C of " + topology::busIdText(local);
    case topology::NodeType::kDev:
      return "unused GPU " + topology::busIdText(local);
  }
  return "";
}

std::string typeText(paths::PathType type, const rules::RuleSet& rules) {
  return fmt::format("{} ({})", paths::name(type), paths::typeNumber(type, rules));
}

std::string bandwidthText(float bandwidth) { return fmt::format("{:.1f} GB/s", bandwidth); }

AnswerSource sourceOf(const plan::HostPlan& host, topology::NodeId node) {
  return sourceOfElement(*host.description, host.system()[node].element);
}

AnswerSource sourceOfLink(const plan::HostPlan& host, topology::LinkId id) {
  const topology::System& system = host.system();
  const topology::Document& document = *host.description;
  const topology::Link& link = system.link(id);
  const topology::ElementId from = system[link.from].element;
  const topology::ElementId to = system[link.to].element;
  if (from == topology::kNoElement || to == topology::kNoElement)
    return sourceOfElement(document, from == topology::kNoElement ? to : from);
  switch (link.type) {
    case topology::LinkType::kPci:
      return sourceOfElement(document, pciElement(document, from, to));
    case topology::LinkType::kNet:
      return sourceOfElement(document, system.type(link.to) == topology::NodeType::kNet ? to : from);
    case topology::LinkType::kNvl:
    case topology::LinkType::kC2c:
      if (system.type(link.from) == topology::NodeType::kGpu)
        return sourceOfElement(document, nvlinkElement(document, system, link.from, link.to));
      return sourceOfElement(document, nvlinkElement(document, system, link.to, link.from));
    default:
      return sourceOfElement(document, from);
  }
}

}  // namespace xylem::why
