// Graph files as NCCL_GRAPH_FILE names them: XML to GraphFile (Reader), and GraphFile to the channels of a
// machine (Loader).

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/settings.h"
#include "core/text_file.h"
#include "planner/paths/locality.h"
#include "planner/rules/version.h"
#include "planner/search/graph_file.h"
#include "planner/topology/attributes.h"
#include "planner/topology/xml.h"

namespace xylem::search {
namespace {

constexpr topology::XmlNesting kNestings[] = {
    {"graphs", "graph"}, {"graph", "channel"}, {"channel", "gpu"}, {"channel", "net"}};
constexpr topology::XmlVocabulary kVocabulary{
    "graphs", "a graph file", kNestings, {.elements = kMaxGraphFileElements}};

constexpr auto kMinInt = std::numeric_limits<std::int32_t>::min();
constexpr auto kMaxInt = std::numeric_limits<std::int32_t>::max();

bool isGraphId(std::int64_t id) {
  return std::any_of(kAllGraphKinds.begin(), kAllGraphKinds.end(),
                     [&](GraphKind kind) { return graphId(kind) == id; });
}

GraphKind kindOf(int id) {
  return *std::find_if(kAllGraphKinds.begin(), kAllGraphKinds.end(),
                       [&](GraphKind kind) { return graphId(kind) == id; });
}

// The patterns that the search can give a graph of this kind, depending on the machine. NCCL takes any number
// from a file, and fails later.
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

// Turns an XML document into graphs, without a machine.
class Reader {
 public:
  Reader(const topology::Document& document, std::vector<std::string>* remarks)
      : document_(document), remarks_(remarks) {}

  GraphFile read() const {
    GraphFile file{document_.file(), {}, document_.size()};
    for (const topology::ElementId element : document_[document_.root()].children) {
      const std::int64_t id = topology::Attributes(document_, element).integer("id", kMinInt, kMaxInt);
      if (isGraphId(id))
        file.graphs.push_back(graph(element));
      else
        remark(element, fmt::format("Ignoring graph {}, which is none of NCCL's", id));
    }
    return file;
  }

 private:
  GraphFileGraph graph(topology::ElementId element) const {
    const topology::Attributes attributes(document_, element);
    const auto integer = [&](std::string_view name, int minimum, int maximum) {
      return static_cast<int>(attributes.integer(name, minimum, maximum));
    };
    GraphFileGraph graph;
    graph.id = integer("id", kMinInt, kMaxInt);
    graph.pattern = pattern(attributes, kindOf(graph.id));
    graph.crossNic = integer("crossnic", 0, 2);
    graph.nChannels = integer("nchannels", 0, paths::kMaxChannels);
    graph.bwIntra = attributes.number("speedintra");
    graph.bwInter = attributes.number("speedinter");
    graph.latencyInter = attributes.number("latencyinter", 0);
    graph.typeIntra = type(element, "typeintra");
    graph.typeInter = type(element, "typeinter");
    graph.sameChannels = integer("samechannels", 0, 1) != 0;
    graph.line = document_[element].line;
    for (const topology::ElementId child : document_[element].children)
      graph.channels.push_back(channel(child));
    const auto count = static_cast<int>(graph.channels.size());
    if (count > paths::kMaxChannels)
      attributes.fail(fmt::format("graph {} with {} channels", graph.id, count),
                      fmt::format("at most {}", paths::kMaxChannels));
    if (graph.nChannels > count)
      attributes.fail(fmt::format("graph {} with nchannels=\"{}\" and {} channel element{}", graph.id,
                                  graph.nChannels, count, count == 1 ? "" : "s"),
                      "a channel element for each channel");
    return graph;
  }

  static Pattern pattern(const topology::Attributes& attributes, GraphKind kind) {
    const std::int64_t number = attributes.integer("pattern", kMinInt, kMaxInt);
    std::string expected;
    for (const Pattern pattern : patternsOf(kind)) {
      if (static_cast<int>(pattern) == number) return pattern;
      expected += fmt::format("{}{} ({})", expected.empty() ? "" : ", ", static_cast<int>(pattern),
                              xylem::search::name(pattern));
    }
    attributes.fail(fmt::format("pattern=\"{}\" in graph {}, the {} graph", number, graphId(kind),
                                xylem::search::name(kind)),
                    "one of " + expected);
  }

  GraphFileChannel channel(topology::ElementId element) const {
    GraphFileChannel channel;
    channel.line = document_[element].line;
    for (const topology::ElementId child : document_[element].children) {
      auto& list = document_[child].name == "gpu" ? channel.gpus : channel.nets;
      const topology::Attributes attributes(document_, child);
      const bool ranked = document_[child].name == "gpu" && attributes.has("rank");
      const int rank = ranked ? static_cast<int>(attributes.integer("rank", 0, kMaxInt)) : -1;
      list.push_back({attributes.hex("dev"), rank, document_[child].line});
    }
    return channel;
  }

  // As in NCCL, text after the name does not matter, and anything that is no name is LOC.
  paths::PathType type(topology::ElementId element, std::string_view name) const {
    const std::string& text = topology::Attributes(document_, element).text(name);
    for (int i = 0; i <= static_cast<int>(paths::PathType::kSys); ++i)
      if (static_cast<paths::PathType>(i) != paths::PathType::kC2c &&
          text.starts_with(xylem::paths::name(static_cast<paths::PathType>(i))))
        return static_cast<paths::PathType>(i);
    remark(element, fmt::format("Taking {} for LOC: it is not one of LOC NVL NVB PIX PXB PXN PHB SYS", name));
    return paths::PathType::kLoc;
  }

  void remark(topology::ElementId element, const std::string& text) const {
    if (remarks_ != nullptr)
      remarks_->push_back(fmt::format("{} ({})", text, toString(document_.location(element))));
  }

  const topology::Document& document_;
  std::vector<std::string>* remarks_;
};

// A message lists no more than this many of the devices there are.
constexpr int kMaxListedDevices = 16;

// Applies a graph of a file to a machine: turns its device numbers into GPUs and NETs.
class Loader {
 public:
  Loader(const GraphFile& file, const topology::System& system) : file_(file), system_(system) {}

  void load(const GraphFileGraph& from, ChannelGraph& to) const {
    to.gpuCount = system_.count(topology::NodeType::kGpu);
    to.pattern = from.pattern;
    to.crossNic = from.crossNic;
    to.nChannels = from.nChannels;
    to.bwIntra = from.bwIntra;
    to.bwInter = from.bwInter;
    to.latencyInter = from.latencyInter;
    to.typeIntra = known(from.typeIntra);
    to.typeInter = known(from.typeInter);
    to.sameChannels = from.sameChannels;
    to.gpus.clear();
    to.nets.clear();
    to.loadedChannels = static_cast<int>(from.channels.size());
    if (to.gpuCount < 2 && (from.pattern == Pattern::kBalancedTree || from.pattern == Pattern::kSplitTree))
      fail(from.line, fmt::format("pattern=\"{}\" for one GPU", static_cast<int>(from.pattern)),
           fmt::format("pattern=\"{}\": {} needs two", static_cast<int>(Pattern::kTree), name(from.pattern)));
    // Channels beyond nchannels are checked as well, as in NCCL.
    for (const GraphFileChannel& channel : from.channels) {
      addGpus(from.id == graphId(GraphKind::kNvls), channel, to.gpus);
      addNets(channel, to.nets);
    }
    const auto count = static_cast<std::size_t>(to.nChannels);
    to.gpus.resize(count * static_cast<std::size_t>(to.gpuCount));
    to.nets.resize(count * 2);
  }

 private:
  // A type that the rules do not know is LOC, as any other unknown name.
  paths::PathType known(paths::PathType type) const {
    return paths::knowsType(type, system_.rules()) ? type : paths::PathType::kLoc;
  }

  [[noreturn]] void fail(int line, const std::string& found, const std::string& expected) const {
    throw InputError({file_.file, line}, found, expected);
  }

  // `headOnly`: an NVLS channel names its head; further GPUs mean nothing.
  void addGpus(bool headOnly, const GraphFileChannel& channel, std::vector<int>& gpus) const {
    const auto wanted = static_cast<std::size_t>(system_.count(topology::NodeType::kGpu));
    const std::size_t given = channel.gpus.size();
    if (given > wanted || (headOnly ? given == 0 : given < wanted))
      fail(channel.line, fmt::format("a channel with {} gpu element{}", given, given == 1 ? "" : "s"),
           headOnly ? "its head" : fmt::format("one for each of the {} GPUs of this job's host", wanted));
    std::vector<bool> used(wanted, false);
    const bool byRank = ranksAreOfThisHost(channel);
    for (const GraphFileDevice& device : channel.gpus) {
      const int gpu = byRank ? system_.position(system_.gpuOfRank(device.rank)) : gpuOf(device);
      if (used[static_cast<std::size_t>(gpu)])
        fail(device.line, fmt::format("gpu with dev=\"{}\" twice in a channel", deviceText(device.id)),
             "each GPU once");
      used[static_cast<std::size_t>(gpu)] = true;
      gpus.push_back(gpu);
    }
    gpus.resize(gpus.size() + wanted - given, 0);
  }

  // By newer rules ranks count, if the file names them. The ranks of another host, or of a job
  // that places ranks otherwise, are not the numbers of this host's GPUs: `dev` tells these then.
  bool ranksAreOfThisHost(const GraphFileChannel& channel) const {
    if (!system_.rules().graphFilesNameRanks) return false;
    std::set<topology::NodeId> named;
    return std::all_of(channel.gpus.begin(), channel.gpus.end(), [&](const GraphFileDevice& device) {
      const topology::NodeId gpu = device.rank < 0 ? topology::kNoNode : system_.gpuOfRank(device.rank);
      return gpu != topology::kNoNode && named.insert(gpu).second;
    });
  }

  int gpuOf(const GraphFileDevice& device) const {
    for (const topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu))
      if (gpuFileId(system_, gpu) == device.id) return system_.position(gpu);
    fail(device.line, fmt::format("gpu with dev=\"{}\"", deviceText(device.id)),
         devices(topology::NodeType::kGpu, [&](topology::NodeId gpu) { return gpuFileId(system_, gpu); }));
  }

  // If the job has no NETs, those of the file do not matter. If it has, a missing one is NET 0, as in NCCL.
  // (NCCL takes NETs that do not exist, too, and fails later.)
  void addNets(const GraphFileChannel& channel, std::vector<int>& nets) const {
    constexpr std::size_t kEnds = 2;
    if (channel.nets.size() > kEnds)
      fail(channel.line, fmt::format("a channel with {} net elements", channel.nets.size()),
           "two: where it starts and where it ends");
    for (std::size_t i = 0; i < kEnds; ++i) {
      if (!system_.usesNets() || system_.count(topology::NodeType::kNet) == 0)
        nets.push_back(-1);
      else if (i < channel.nets.size())
        nets.push_back(netOf(channel.nets[i]));
      else
        nets.push_back(netOf({.id = 0, .line = channel.line}));
    }
  }

  int netOf(const GraphFileDevice& device) const {
    const auto key = [&](topology::NodeId net) { return system_[net].key.value; };
    for (const topology::NodeId net : system_.nodes(topology::NodeType::kNet))
      if (key(net) == device.id) return system_.position(net);
    fail(device.line, fmt::format("net with dev=\"{}\"", deviceText(device.id)),
         devices(topology::NodeType::kNet, key));
  }

  // Returns what the file could have named, as in `one of this job's host: 0 0x1`.
  template <typename Id>
  std::string devices(topology::NodeType type, const Id& id) const {
    std::string text = system_.count(type) == 1 ? "the only one in this job:" : "one of this job's host:";
    for (int i = 0; i < system_.count(type) && i < kMaxListedDevices; ++i)
      text += " " + deviceText(id(system_.node(type, i)));
    return system_.count(type) > kMaxListedDevices ? text + " …" : text;
  }

  const GraphFile& file_;
  const topology::System& system_;
};

}  // namespace

GraphFile parseGraphFile(std::string_view text, const std::string& file, std::vector<std::string>* remarks) {
  return Reader(topology::parseXmlDocument(text, file, kVocabulary, remarks), remarks).read();
}

GraphFile readGraphFile(const std::string& path, std::vector<std::string>* remarks) {
  return parseGraphFile(readFile(path, "a graph file", kVocabulary.limits.bytes), path, remarks);
}

std::shared_ptr<const GraphFile> graphFileOf(const Settings& settings, std::vector<std::string>* remarks) {
  if (!settings.isSet(Setting::kGraphFile)) return nullptr;
  const std::string& path = settings.text(Setting::kGraphFile);
  // A configuration file is easily forgotten: messages about the graph file say where the variable is set.
  const std::string& origin = settings.origin(Setting::kGraphFile);
  const std::string where = origin.find(':') == std::string::npos ? "" : fmt::format(" in {}", origin);
  const std::string text = readFile(path, fmt::format("the graph file that NCCL_GRAPH_FILE{} names", where),
                                    kVocabulary.limits.bytes);
  const std::string name = where.empty() ? path : fmt::format("{} (NCCL_GRAPH_FILE{})", path, where);
  return std::make_shared<const GraphFile>(parseGraphFile(text, name, remarks));
}

void loadGraph(const GraphFile& file, const topology::System& system, int crossNic, ChannelGraph& graph) {
  graph.loadedChannels = 0;
  if (const std::size_t most = system.rules().maxGraphFileElements; file.elements > most)
    throw InputError(
        {file.file, 0}, fmt::format("{} elements", file.elements),
        fmt::format("at most {}, as NCCL {} reads", most, rules::versionText(system.rules().version)));
  const Loader loader(file, system);
  for (const GraphFileGraph& from : file.graphs)
    if (from.id == graph.id && !(crossNic == 0 && from.crossNic == 1)) loader.load(from, graph);
}

}  // namespace xylem::search
