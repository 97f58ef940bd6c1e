#include "planner/search/load_graph.h"

#include <fmt/format.h>

#include <optional>

#include "core/error.h"

namespace xylem {
namespace {

// What a message lists of the devices there are.
constexpr int kListed = 16;

class Loader {
 public:
  Loader(const GraphFile& file, const System& system) : file_(file), system_(system) {}

  void load(const GraphFileGraph& from, ChannelGraph& to) const {
    to.gpuCount = system_.count(NodeType::kGpu);
    to.pattern = from.pattern;
    to.crossNic = from.crossNic;
    to.nChannels = from.nChannels;
    to.bwIntra = from.bwIntra;
    to.bwInter = from.bwInter;
    to.latencyInter = from.latencyInter;
    to.typeIntra = from.typeIntra;
    to.typeInter = from.typeInter;
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
  [[noreturn]] void fail(int line, const std::string& found, const std::string& expected) const {
    throw InputError({file_.file, line}, found, expected);
  }

  // `headOnly`: NVLS channels name their head; what follows means nothing.
  void addGpus(bool headOnly, const GraphFileChannel& channel, std::vector<int>& gpus) const {
    const auto wanted = static_cast<std::size_t>(system_.count(NodeType::kGpu));
    const std::size_t given = channel.gpus.size();
    if (given > wanted || (headOnly ? given == 0 : given < wanted))
      fail(channel.line, fmt::format("a channel with {} gpu element{}", given, given == 1 ? "" : "s"),
           headOnly ? "its head" : fmt::format("one for each of the {} GPUs of this job's host", wanted));
    std::vector<bool> used(wanted, false);
    for (const GraphFileDevice& device : channel.gpus) {
      const int gpu = gpuOf(device);
      if (used[static_cast<std::size_t>(gpu)])
        fail(device.line, fmt::format("gpu with dev=\"{}\" twice in a channel", deviceText(device.id)),
             "each GPU once");
      used[static_cast<std::size_t>(gpu)] = true;
      gpus.push_back(gpu);
    }
    gpus.resize(gpus.size() + wanted - given, 0);
  }

  int gpuOf(const GraphFileDevice& device) const {
    for (const NodeId gpu : system_.nodes(NodeType::kGpu))
      if (gpuFileId(system_, gpu) == device.id) return system_.position(gpu);
    fail(device.line, fmt::format("gpu with dev=\"{}\"", deviceText(device.id)),
         devices(NodeType::kGpu, [&](NodeId gpu) { return gpuFileId(system_, gpu); }));
  }

  // Without NETs in the job those of the file do not matter. With them, one that is missing is NET 0, as in
  // NCCL, which fails later for NETs that do not exist.
  void addNets(const GraphFileChannel& channel, std::vector<int>& nets) const {
    constexpr std::size_t kEnds = 2;
    if (channel.nets.size() > kEnds)
      fail(channel.line, fmt::format("a channel with {} net elements", channel.nets.size()),
           "two: where it starts and where it ends");
    for (std::size_t i = 0; i < kEnds; ++i) {
      if (system_.count(NodeType::kNet) == 0)
        nets.push_back(-1);
      else if (i < channel.nets.size())
        nets.push_back(netOf(channel.nets[i]));
      else
        nets.push_back(netOf({0, channel.line}));
    }
  }

  int netOf(const GraphFileDevice& device) const {
    const auto key = [&](NodeId net) { return system_[net].key.value; };
    for (const NodeId net : system_.nodes(NodeType::kNet))
      if (key(net) == device.id) return system_.position(net);
    fail(device.line, fmt::format("net with dev=\"{}\"", deviceText(device.id)),
         devices(NodeType::kNet, key));
  }

  // `one of this job's host: 0 0x1`: what the file could have named.
  template <typename Id>
  std::string devices(NodeType type, const Id& id) const {
    std::string text = system_.count(type) == 1 ? "the only one in this job:" : "one of this job's host:";
    for (int i = 0; i < system_.count(type) && i < kListed; ++i)
      text += " " + deviceText(id(system_.node(type, i)));
    return system_.count(type) > kListed ? text + " …" : text;
  }

  const GraphFile& file_;
  const System& system_;
};

}  // namespace

void loadGraph(const GraphFile& file, const System& system, int crossNic, ChannelGraph& graph) {
  graph.loadedChannels = 0;
  const Loader loader(file, system);
  for (const GraphFileGraph& from : file.graphs)
    if (from.id == graph.id && !(crossNic == 0 && from.crossNic == 1)) loader.load(from, graph);
}

}  // namespace xylem
