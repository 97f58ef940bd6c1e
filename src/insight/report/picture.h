#pragma once
// A plan as a picture: a value with every fact that the page, the SVG and the JSON show.
//
//   const Inquiry inquiry(request, settings);
//   const Picture picture = drawPicture(inquiry, {.title = "dgxh100.xml", .describe = nodeDetail});
//   writeFile("report.html", pageHtml(picture));                 // insight/report/page.h
//
// Bandwidths are in GB/s (1e9 bytes per second), times in microseconds, sizes in bytes. The picture includes
// the parts of a host that the job does not use, such as NICs in a job of one host; they carry no channels.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kinds.h"
#include "insight/why/answer.h"
#include "planner/search/channel_graph.h"
#include "planner/topology/system.h"

namespace xylem::topology {
class Document;
}
namespace xylem::why {
class Inquiry;
}
namespace xylem::report {

struct PictureNode {
  std::string label;   // "GPU 3", by its rank in the job
  std::string detail;  // bus id, model and the like
  why::AnswerSource source;
  bool used = true;        // part of the job's plan
  bool elsewhere = false;  // used by another of the nodes that NCCL makes of the host
};

// A link in both directions: lane 0 from `a` to `b`, lane 1 back. Links of the same type between the same two
// nodes are merged.
struct PictureLink {
  topology::NodeId a = topology::kNoNode, b = topology::kNoNode;
  topology::LinkType type = topology::LinkType::kLoc;
  std::array<float, 2> bandwidth{};  // by lane; 0 if there is no link in that direction
  why::AnswerSource source;
};

struct LaneOfLink {
  int link = 0;  // of the host's picture
  int lane = 0;
};

// A part of a channel's path, from GPU to GPU or between a GPU and a NET.
struct PictureLeg {
  topology::NodeId from = topology::kNoNode, to = topology::kNoNode;
  paths::PathType type = paths::PathType::kDis;
  float bandwidth = 0;           // of the path, before any channel
  float carries = 0;             // of the channel
  std::vector<LaneOfLink> hops;  // in walking order
  // GB/s that NCCL's search takes of each lane: more than `carries` on PCI through an Intel CPU, and some for
  // acknowledgements on the way back.
  std::vector<std::pair<LaneOfLink, float>> takes;
};

// A lane with too little bandwidth left for another channel.
struct FullLane {
  LaneOfLink lane;
  float left = 0, wanted = 0;
};

struct PictureGraph {
  search::GraphKind kind = search::GraphKind::kRing;
  search::Pattern pattern = search::Pattern::kRing;
  float bwIntra = 0, bwInter = 0;  // per channel
  paths::PathType typeIntra = paths::PathType::kLoc, typeInter = paths::PathType::kLoc;
  bool fallback = false;  // the search found nothing: GPUs in index order, ignoring bandwidth
  std::vector<std::vector<PictureLeg>> channels;  // by channel of the search
  std::vector<std::array<float, 2>> used;         // by link and lane: GB/s of all channels
  std::vector<FullLane> full;                     // lanes that keep another ring or tree from fitting
};

// How a GPU reaches another GPU or a NET.
struct ReachCell {
  std::string way;  // "P2P", "SHM", "NET"; of NETs "GDR", "GDR in" (receiving only), "GDR out", "host"
  bool direct = false;
  paths::PathType type = paths::PathType::kDis;
  float bandwidth = 0;
  std::vector<why::AnswerStep> reasons;
};
struct ReachMatrix {
  std::vector<topology::NodeId> rows, columns;  // GPUs; GPUs and NETs
  std::vector<ReachCell> cells;                 // row by row; empty for a GPU and itself
  int gpusLeftOut = 0;                          // GPUs beyond kMaxMatrixGpus, which have no rows
};
constexpr int kMaxMatrixGpus = 32;

// The machine of one view: a kind of host, or a domain of one.
struct HostPicture {
  std::string title;        // "hosts 0 to 3 of dgxh100.xml"
  int rank = 0;             // the first of this view
  topology::System system;  // the whole machine
  std::vector<PictureNode> nodes;
  std::vector<PictureLink> links;
  std::vector<PictureGraph> graphs;
  ReachMatrix reach;
};

// The ranks of a ring in its order. Channels with equal rings share one.
struct PictureRing {
  std::vector<int> channels;
  std::vector<int> ranks;
};
// A hop of a ring from one node to another.
struct RingCrossing {
  int ring = 0;                // index into PictureJob::rings
  int from = 0, to = 0;        // ranks
  const char* way = "NET";     // or SHM or P2P, between nodes that are one host
  std::string fromNet, toNet;  // "NET 3 (mlx5_3)", empty if NCCL would find none
  bool fromGdr = false, toGdr = false;
};
struct TreePlaceOfRank {
  int rank = 0;
  int up = -1;  // rank; -1 at the root
  int depth = 0;
};
struct PictureTree {
  std::vector<int> channels;
  std::vector<TreePlaceOfRank> ranks;  // by rank
};
struct PictureJob {
  int ranks = 0, nodes = 0, hosts = 0, channels = 0;
  std::vector<int> nodeOfRank;
  std::vector<PictureRing> rings;
  std::vector<RingCrossing> crossings;
  std::vector<PictureTree> trees;
  bool leftOut = false;  // the job has more than kMaxJobRanks ranks: no rings and trees
};
constexpr int kMaxJobRanks = 512;

struct CurvePoint {
  float time = 0;  // 0 if it cannot run with this size
  float busBandwidth = 0;
};
struct Curve {
  std::string name;                // "Ring/LL"
  std::vector<CurvePoint> points;  // by size
};
// A range of sizes for which NCCL chooses the same algorithm and protocol.
struct CurveStretch {
  std::uint64_t first = 0, last = 0;
  int curve = -1;  // index into CollectiveCurves::curves; -1 if nothing can run
  int leastChannels = 0, mostChannels = 0;
  float firstTime = 0, lastTime = 0;
};
struct CollectiveCurves {
  Collective collective = Collective::kAllReduce;
  std::vector<Curve> curves;
  std::vector<CurveStretch> stretches;
  std::vector<std::string> excluded;  // reasons why other algorithms and protocols are no candidates
};

// How near a plan comes to what the machine could do. The caller of drawPicture() computes it.
struct Optimality {
  std::string what;    // "ring, inside a host"
  float achieved = 0;  // GB/s
  float bound = 0;     // GB/s that nothing can exceed
  std::string cut;     // the links that set the bound, as text
};

// In what the plan differs from that of an older version of NCCL. The caller of drawPicture() computes it.
struct VersionChange {
  std::string from, to;  // "2.27.7"; empty: not asked for
  struct Cause {
    std::string name, since, summary, back;  // back: the variable that restores the old rule, or empty
    std::vector<std::string> parts;          // of the plan that differ by it
  };
  std::vector<Cause> causes;
  struct Time {
    std::uint64_t bytes = 0;
    double before = 0, after = 0;  // microseconds, of an AllReduce
  };
  std::vector<Time> times;
  std::string error;  // why one of the versions cannot plan the job
};

// Where the picture comes from, so that other people can make it again. The caller of drawPicture() knows.
struct Origin {
  std::string command;  // "xylem draw dgxh100.xml -o report.html"
  std::string version;  // of Xylem, and whose rules it followed
  std::string date;     // "2026-11-23 21:00 UTC"
  struct File {
    std::string name, hash;  // hash: SHA-256 in hexadecimal
  };
  std::vector<File> files;               // topology files, and a graph file
  std::vector<std::string> assumptions;  // what the command line left open
  std::vector<std::string> warnings;
};

struct Picture {
  std::string title;
  std::string summary;                                        // "16 ranks on 2 hosts: 8 GPUs, ..."
  std::vector<std::pair<std::string, std::string>> settings;  // variables that were set
  std::vector<HostPicture> hosts;
  PictureJob job;
  std::vector<std::uint64_t> sizes;
  std::vector<CollectiveCurves> tuning;
  std::vector<Optimality> optimality;
  VersionChange upgrade;
  std::vector<why::Answer> answers;
  Origin origin;
};

struct PictureOptions {
  std::string title;
  // Returns PictureNode::detail of a node.
  std::function<std::string(const topology::Document&, const topology::System&, topology::NodeId)> describe =
      nullptr;
  std::vector<Optimality> optimality = {};
  VersionChange upgrade = {};
  Origin origin = {};
  bool answers = true;  // includes Picture::answers; each may plan the job again
};

Picture drawPicture(const why::Inquiry& inquiry, const PictureOptions& options);

}  // namespace xylem::report
