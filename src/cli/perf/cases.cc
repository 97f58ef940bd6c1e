#include "cli/perf/cases.h"

namespace xylem::cli {
namespace {

// Blocks are whole multiples of this, as in nccl-tests.
constexpr std::size_t kBlockBytes = 16;

struct Traits {
  std::string_view name;
  bool reduces;
  bool hasRoot;
  bool isPointToPoint;
  bool isDefinedInPlace;
};
constexpr Traits kTraits[kPerfCollectives] = {
    {"all_reduce", true, false, false, true},      //
    {"all_gather", false, false, false, true},     //
    {"reduce_scatter", true, false, false, true},  //
    {"broadcast", false, true, false, true},       //
    {"reduce", true, true, false, true},           //
    {"alltoall", false, false, true, false},       //
    {"scatter", false, true, true, true},          //
    {"gather", false, true, true, true},           //
    {"sendrecv", false, false, true, false},       //
    {"hypercube", false, false, true, true},
};

const Traits& traitsOf(PerfCollective collective) { return kTraits[static_cast<int>(collective)]; }

}  // namespace

std::string_view name(PerfCollective collective) { return traitsOf(collective).name; }
bool reduces(PerfCollective collective) { return traitsOf(collective).reduces; }
bool hasRoot(PerfCollective collective) { return traitsOf(collective).hasRoot; }
bool isPointToPoint(PerfCollective collective) { return traitsOf(collective).isPointToPoint; }
bool isDefinedInPlace(PerfCollective collective) { return traitsOf(collective).isDefinedInPlace; }

int stepsOf(PerfCollective collective, int ranks) {
  if (collective != PerfCollective::kHypercube) return 1;
  int steps = 1;  // a single rank only copies its block
  while (1 << steps < ranks) ++steps;
  return steps;
}

PerfLayout layoutOf(PerfCollective collective, std::size_t bytes, DataType type, int ranks) {
  // `bytes` is the size of the larger buffer: that of all ranks' blocks, where there are blocks.
  const std::size_t whole = bytes / elementBytes(type);
  const std::size_t unit = kBlockBytes / elementBytes(type);
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t block = whole / n / unit * unit;
  switch (collective) {
    case PerfCollective::kAllReduce:
    case PerfCollective::kBroadcast:
    case PerfCollective::kReduce:
    case PerfCollective::kSendRecv:
      return {whole, whole, whole, 0, 0};
    case PerfCollective::kAllGather:
    case PerfCollective::kGather:
    case PerfCollective::kHypercube:
      return {block, block, block * n, block, 0};
    case PerfCollective::kReduceScatter:
    case PerfCollective::kScatter:
      return {block, block * n, block, 0, block};
    case PerfCollective::kAllToAll:
      return {block, block * n, block * n, 0, 0};
  }
  return {};
}

std::vector<Piece> piecesOf(PerfCollective collective, std::size_t count, int ranks, int rank, int root) {
  const auto blocksOfAll = [&](std::size_t from) {
    std::vector<Piece> pieces;
    for (int source = 0; source < ranks; ++source)
      pieces.push_back({source, static_cast<std::size_t>(source) * count, from, count});
    return pieces;
  };
  const std::size_t own = static_cast<std::size_t>(rank) * count;
  switch (collective) {
    case PerfCollective::kAllReduce:
      return {{Piece::kAllRanks, 0, 0, count}};
    case PerfCollective::kReduce:
      return rank == root ? std::vector<Piece>{{Piece::kAllRanks, 0, 0, count}} : std::vector<Piece>{};
    case PerfCollective::kReduceScatter:
      return {{Piece::kAllRanks, 0, own, count}};
    case PerfCollective::kBroadcast:
      return {{root, 0, 0, count}};
    case PerfCollective::kScatter:
      return {{root, 0, own, count}};
    case PerfCollective::kGather:
      return rank == root ? blocksOfAll(0) : std::vector<Piece>{};
    case PerfCollective::kSendRecv:
      return {{(rank + ranks - 1) % ranks, 0, 0, count}};
    case PerfCollective::kAllGather:
    case PerfCollective::kHypercube:
      return blocksOfAll(0);
    case PerfCollective::kAllToAll:
      return blocksOfAll(own);
  }
  return {};
}

Bandwidth bandwidthOf(PerfCollective collective, std::size_t bytes, int ranks, double microseconds) {
  if (microseconds <= 0) return {};
  const double n = ranks;
  const double speed = static_cast<double>(bytes) / microseconds / 1e3;  // bytes per us are 1e-3 GB/s
  switch (collective) {
    case PerfCollective::kAllReduce:
      return {speed, speed * 2 * (n - 1) / n};  // a reduce-scatter and an all-gather
    case PerfCollective::kBroadcast:
    case PerfCollective::kReduce:
    case PerfCollective::kSendRecv:
      return {speed, speed};
    case PerfCollective::kHypercube:  // counts the data that a rank receives, without its own block
      return {speed * (n - 1) / n, speed * (n - 1) / n};
    default:  // all blocks but the rank's own cross its link
      return {speed, speed * (n - 1) / n};
  }
}

namespace {

std::vector<std::size_t> sizesOf(const PerfOptions& options) {
  std::vector<std::size_t> sizes;
  std::size_t bytes = options.minBytes;
  while (bytes <= options.maxBytes) {
    sizes.push_back(bytes);
    const std::size_t next = options.stepBytes > 0 ? bytes + options.stepBytes : bytes * options.stepFactor;
    if (next <= bytes) break;
    bytes = next;
  }
  return sizes;
}

std::vector<int> rootsOf(const PerfOptions& options) {
  if (!hasRoot(options.collective)) return {-1};
  if (options.root >= 0) return {options.root};
  std::vector<int> roots;
  for (int root = 0; root < options.ranks(); ++root) roots.push_back(root);
  return roots;
}

}  // namespace

std::string_view name(PerfOperator op) {
  constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};
  return kNames[static_cast<int>(op)];
}

std::string_view name(PerfMemory memory) {
  constexpr std::string_view kNames[] = {"malloc", "cuda", "nccl"};
  return kNames[static_cast<int>(memory)];
}

std::vector<PerfCase> casesOf(const PerfOptions& options) {
  const std::vector<PerfOperator> ops =
      reduces(options.collective) ? options.ops : std::vector<PerfOperator>{PerfOperator::kNone};
  std::vector<PerfCase> cases;
  for (const DataType type : options.types)
    for (const PerfOperator op : ops)
      for (const int root : rootsOf(options))
        for (const std::size_t bytes : sizesOf(options))
          cases.push_back({type, op, root, layoutOf(options.collective, bytes, type, options.ranks())});
  return cases;
}

}  // namespace xylem::cli
