#include <algorithm>
#include <limits>

#include "planner/search/graph_file.h"
#include "core/settings.h"
#include "planner/paths/locality.h"
#include "planner/topology/attributes.h"
#include "planner/topology/xml_document.h"

namespace xylem {
namespace {

constexpr XmlNesting kNestings[] = {
    {"graphs", "graph"}, {"graph", "channel"}, {"channel", "gpu"}, {"channel", "net"}};
constexpr XmlVocabulary kVocabulary{"graphs", "a graph file", kNestings, {.elements = kMaxGraphFileElements}};

constexpr auto kLeastInt = std::numeric_limits<std::int32_t>::min();
constexpr auto kMostInt = std::numeric_limits<std::int32_t>::max();

bool isGraphId(std::int64_t id) {
  return std::any_of(kAllGraphKinds.begin(), kAllGraphKinds.end(),
                     [&](GraphKind kind) { return graphId(kind) == id; });
}

GraphKind kindOf(int id) {
  return *std::find_if(kAllGraphKinds.begin(), kAllGraphKinds.end(),
                       [&](GraphKind kind) { return graphId(kind) == id; });
}

// What the search makes of a graph, which depends on the machine. NCCL takes any number, and fails later.
std::span<const Pattern> patternsOf(GraphKind kind) {
  static constexpr Pattern kRings[] = {Pattern::kRing};
  static constexpr Pattern kTrees[] = {Pattern::kBalancedTree, Pattern::kSplitTree, Pattern::kTree};
  static constexpr Pattern kDirect[] = {Pattern::kTree, Pattern::kCollnetDirect};
  static constexpr Pattern kNvls[] = {Pattern::kNvls};
  switch (kind) {
    case GraphKind::kRing:
      return kRings;
    case GraphKind::kTree:
    case GraphKind::kCollnetChain:
      return kTrees;
    case GraphKind::kCollnetDirect:
      return kDirect;
    case GraphKind::kNvls:
      return kNvls;
  }
  return {};
}

class Reader {
 public:
  Reader(const Document& document, std::vector<std::string>* remarks)
      : document_(document), remarks_(remarks) {}

  GraphFile read() const {
    GraphFile file{document_.file(), {}};
    for (const ElementId element : document_[document_.root()].children) {
      const std::int64_t id = Attributes(document_, element).integer("id", kLeastInt, kMostInt);
      if (isGraphId(id))
        file.graphs.push_back(graph(element));
      else
        remark(element, fmt::format("Ignoring graph {}, which is none of NCCL's", id));
    }
    return file;
  }

 private:
  GraphFileGraph graph(ElementId element) const {
    const Attributes attributes(document_, element);
    const auto integer = [&](std::string_view name, int minimum, int maximum) {
      return static_cast<int>(attributes.integer(name, minimum, maximum));
    };
    GraphFileGraph graph;
    graph.id = integer("id", kLeastInt, kMostInt);
    graph.pattern = pattern(attributes, kindOf(graph.id));
    graph.crossNic = integer("crossnic", 0, 2);
    graph.nChannels = integer("nchannels", 0, kMaxChannels);
    graph.bwIntra = attributes.number("speedintra");
    graph.bwInter = attributes.number("speedinter");
    graph.latencyInter = attributes.number("latencyinter", 0);
    graph.typeIntra = type(element, "typeintra");
    graph.typeInter = type(element, "typeinter");
    graph.sameChannels = integer("samechannels", 0, 1) != 0;
    graph.line = document_[element].line;
    for (const ElementId child : document_[element].children) graph.channels.push_back(channel(child));
    const auto count = static_cast<int>(graph.channels.size());
    if (count > kMaxChannels)
      attributes.fail(fmt::format("graph {} with {} channels", graph.id, count),
                      fmt::format("at most {}", kMaxChannels));
    if (graph.nChannels > count)
      attributes.fail(fmt::format("graph {} with nchannels=\"{}\" and {} channel element{}", graph.id,
                                  graph.nChannels, count, count == 1 ? "" : "s"),
                      "a channel element for each channel");
    return graph;
  }

  static Pattern pattern(const Attributes& attributes, GraphKind kind) {
    const std::int64_t number = attributes.integer("pattern", kLeastInt, kMostInt);
    std::string expected;
    for (const Pattern pattern : patternsOf(kind)) {
      if (static_cast<int>(pattern) == number) return pattern;
      expected += fmt::format("{}{} ({})", expected.empty() ? "" : ", ", static_cast<int>(pattern),
                              xylem::name(pattern));
    }
    attributes.fail(
        fmt::format("pattern=\"{}\" in graph {}, the {} graph", number, graphId(kind), xylem::name(kind)),
        "one of " + expected);
  }

  GraphFileChannel channel(ElementId element) const {
    GraphFileChannel channel;
    channel.line = document_[element].line;
    for (const ElementId child : document_[element].children) {
      auto& list = document_[child].name == "gpu" ? channel.gpus : channel.nets;
      list.push_back({Attributes(document_, child).hex("dev"), document_[child].line});
    }
    return channel;
  }

  // As in NCCL: what follows the name does not matter, and what is no name is LOC.
  PathType type(ElementId element, std::string_view name) const {
    const std::string& text = Attributes(document_, element).text(name);
    for (int i = 0; i <= static_cast<int>(PathType::kSys); ++i)
      if (text.starts_with(xylem::name(static_cast<PathType>(i)))) return static_cast<PathType>(i);
    remark(element, fmt::format("Taking {} for LOC: it is not one of LOC NVL NVB PIX PXB PXN PHB SYS", name));
    return PathType::kLoc;
  }

  void remark(ElementId element, const std::string& text) const {
    if (remarks_ != nullptr)
      remarks_->push_back(fmt::format("{} ({})", text, toString(document_.location(element))));
  }

  const Document& document_;
  std::vector<std::string>* remarks_;
};

}  // namespace

GraphFile parseGraphFile(std::string_view text, const std::string& file, std::vector<std::string>* remarks) {
  return Reader(parseXmlDocument(text, file, kVocabulary, remarks), remarks).read();
}

GraphFile readGraphFile(const std::string& path, std::vector<std::string>* remarks) {
  return parseGraphFile(readXmlFile(path, "a graph file", kVocabulary.limits), path, remarks);
}

std::shared_ptr<const GraphFile> graphFileOf(const Settings& settings, std::vector<std::string>* remarks) {
  if (!settings.isSet(Setting::kGraphFile)) return nullptr;
  const std::string& path = settings.text(Setting::kGraphFile);
  const std::string text = readXmlFile(path, "the graph file that NCCL_GRAPH_FILE names", kVocabulary.limits);
  return std::make_shared<const GraphFile>(parseGraphFile(text, path, remarks));
}

}  // namespace xylem
