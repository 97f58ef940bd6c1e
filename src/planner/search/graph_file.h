#pragma once
// Graph files: NCCL's XML for the channels of a host, which NCCL_GRAPH_DUMP_FILE writes and NCCL_GRAPH_FILE
// reads in place of the search.
//
//   const GraphFile file = readGraphFile("ring.xml");
//   graph.id = graphId(GraphKind::kRing);
//   loadGraph(file, system, crossNic, graph);
//   if (graph.nChannels == 0) ... search ...
//   std::string text = writeGraphFile(host.graphs, system);
//
// A file names devices, not positions: it is read without knowing the machine, and applied to one later.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "planner/search/channel_graph.h"

namespace xylem {
class Settings;
}
namespace xylem::search {

// The limit of NCCL from 2.29 on: graphs, channels, GPUs and NETs together, and the root; older rules have a lower one. A file
// of a DGX H100 has about 250.
constexpr std::size_t kMaxGraphFileElements = 65536;

// A GPU by its NVML index, or a NET by its device number; the system it belongs to in the upper 8 bits.
struct GraphFileDevice {
  std::uint64_t id = 0;
  int rank = -1;  // of a GPU that the file names by its rank, too
  int line = 0;
};

struct GraphFileChannel {
  std::vector<GraphFileDevice> gpus, nets;  // in file order
  int line = 0;
};

struct GraphFileGraph {
  int id = 0;  // graphId() of its kind
  Pattern pattern = Pattern::kRing;
  int crossNic = 0;
  int nChannels = 0;
  float bwIntra = 0, bwInter = 0;  // GB/s per channel
  float latencyInter = 0;          // microseconds
  paths::PathType typeIntra = paths::PathType::kLoc, typeInter = paths::PathType::kLoc;
  bool sameChannels = false;
  std::vector<GraphFileChannel> channels;
  int line = 0;
};

struct GraphFile {
  std::string file;  // its name in messages
  std::vector<GraphFileGraph> graphs;
  std::size_t elements = 0;
};

// Throws InputError with file and line if the text is no graph file, and for numbers out of range. Adds a
// remark for everything that is ignored or read as something else, as in NCCL.
GraphFile parseGraphFile(std::string_view text, const std::string& file,
                         std::vector<std::string>* remarks = nullptr);
GraphFile readGraphFile(const std::string& path, std::vector<std::string>* remarks = nullptr);
// Reads the file that NCCL_GRAPH_FILE names. Returns null if it is not set.
std::shared_ptr<const GraphFile> graphFileOf(const Settings& settings,
                                             std::vector<std::string>* remarks = nullptr);

// Applies the file to the graph with `graph.id`; the last one in the file with that id counts. The file says
// nothing of the graph's bounds (minChannels, maxChannels). `crossNic` is NCCL_CROSS_NIC: with 0, graphs
// whose crossnic is 1 do not count. Throws InputError with file and line for devices that are not on this
// machine and channels that do not hold each GPU once.
void loadGraph(const GraphFile& file, const topology::System& system, int crossNic, ChannelGraph& graph);

// Returns the text NCCL writes. Throws if graph files cannot say what is in these graphs.
// `names`: the ranks, which newer rules write beside the GPUs.
std::string writeGraphFile(const HostGraphs& graphs, const topology::System& system,
                           const topology::RankNames& names = {});

// Returns a device as graph files write it: `0x1b` for 27, `0` for 0.
std::string deviceText(std::uint64_t id);
// Returns the number of a GPU of this machine in graph files.
std::uint64_t gpuFileId(const topology::System& system, topology::NodeId gpu);

}  // namespace xylem::search
