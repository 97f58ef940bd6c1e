#pragma once
// Graph files: NCCL's XML for the channels of a host, which NCCL_GRAPH_DUMP_FILE writes and NCCL_GRAPH_FILE
// reads in place of the search.
//
//   const GraphFile file = readGraphFile("ring.xml");
//   loadGraph(file, system, crossNic, graph);              // load_graph.h
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

// As in NCCL: graphs, channels, GPUs and NETs together, and the root. Ours of a DGX H100 have about 250.
constexpr std::size_t kMaxGraphFileElements = 4096;

// A GPU by its NVML index, or a NET by its device number; the system it belongs to in the upper 8 bits.
struct GraphFileDevice {
  std::uint64_t id = 0;
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
  PathType typeIntra = PathType::kLoc, typeInter = PathType::kLoc;
  bool sameChannels = false;
  std::vector<GraphFileChannel> channels;
  int line = 0;
};

struct GraphFile {
  std::string file;  // what messages call it
  std::vector<GraphFileGraph> graphs;
};

// Throws InputError with file and line for what is no graph file, and for numbers out of range. What is left
// out or taken for something else, as NCCL does, is named in `remarks`.
GraphFile parseGraphFile(std::string_view text, const std::string& file,
                         std::vector<std::string>* remarks = nullptr);
GraphFile readGraphFile(const std::string& path, std::vector<std::string>* remarks = nullptr);
// The file that NCCL_GRAPH_FILE names; null if it is not set.
std::shared_ptr<const GraphFile> graphFileOf(const Settings& settings,
                                             std::vector<std::string>* remarks = nullptr);

// The text NCCL writes. Throws if it has no way to write these graphs.
std::string writeGraphFile(const HostGraphs& graphs, const System& system);

// `0x1b` of 27, and `0` of 0: how graph files write devices.
std::string deviceText(std::uint64_t id);
// What graph files call a GPU of this machine.
std::uint64_t gpuFileId(const System& system, NodeId gpu);

}  // namespace xylem
