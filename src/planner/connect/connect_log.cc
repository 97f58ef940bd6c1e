#include "planner/connect/connect_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "planner/connect/collnet_nvls.h"
#include "planner/connect/p2p.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/paths/locality.h"

namespace xylem::connect {
namespace {

constexpr std::size_t kMaxLogLine = 1023;  // characters; NCCL cuts longer lines

class ConnectLog {
 public:
  ConnectLog(const Connections& c, int rank) : c_(c), rank_(rank), channels_(c.of(rank).channels.total()) {}

  std::vector<LogLine> write() {
    if (c_.rules().logsTuning && c_.nvlsHeads > 0) addNvlsTuning();
    for (int channel = 0; channel < c_.searched; ++channel) {
      addTree(channel);
      addTree(channel + c_.searched);
    }
    if (c_.collnet)
      for (int channel = 0; channel < channels_; ++channel) addCollnet(channel);
    if (c_.nodes.ofRank[static_cast<std::size_t>(rank_)] == 0) append(nvlsHeadLines(c_));
    if (c_.nvlsHeads > 0 && c_.nodes.count() > 1) addNvlsTrees();
    if (rank_ == 0) append(ringLines(c_));
    for (int channel = 0; channel < channels_; ++channel) {
      const RingNeighbours around = ringNeighbours(c_, rank_, channel);
      add(fmt::format("Ring {:02d} : {} -> {} -> {}", channel, around.previous, rank_, around.next));
    }
    addTreesSummary();
    if (c_.rules().logsTuning && c_.nodes.count() > 1)
      add(fmt::format("Tuning P2P operations with maxP2pPeers = {}", p2pPeers(c_)));
    if (c_.rules().logsP2pGroups)
      add(fmt::format("ncclP2pSchedule: group size used is {}", p2pGroupSize(c_)));
    return std::move(lines_);
  }

 private:
  void add(std::string text, Subsystem subsystem = Subsystem::kGraph) {
    if (text.size() > kMaxLogLine) text.resize(kMaxLogLine);
    lines_.push_back({LogLevel::kInfo, subsystem, std::move(text)});
  }
  void append(std::vector<LogLine> more) { std::move(more.begin(), more.end(), std::back_inserter(lines_)); }
  static std::string downText(const TreeLinks& links) {
    return fmt::format("{}", fmt::join(links.down, "/"));
  }

  // NCCL prints the tree only on ranks with links to other nodes.
  void addTree(int original) {
    if (original >= paths::kMaxChannels || !leavesNode(c_, rank_, original % c_.searched)) return;
    const TreeLinks links = treeOfOriginal(c_, rank_, original);
    add(fmt::format("Tree {} : {} -> {} -> {}", original, links.up, rank_, downText(links)));
  }

  void addCollnet(int channel) {
    const CollnetDirect direct = collnetDirectOf(c_, rank_);
    std::string text = fmt::format("CollNetDirect channel {} rank {} ", channel, rank_);
    if (direct.headRank >= 0)
      text += fmt::format("down {} nDown {} ", fmt::join(direct.down, " "), direct.down.size());
    text += fmt::format("nHeads {} headRank {} up {} nUp {} out {} shift {} depth {}", direct.heads.size(),
                        direct.headRank, fmt::join(direct.up, " "), direct.up.size(), direct.out,
                        direct.shift, direct.depth);
    add(std::move(text));
  }

  void addNvlsTrees() {
    const NvlsLinks links = nvlsOf(c_, rank_);
    const auto text = [&](const TreeLinks& tree) {
      return fmt::format("{}->{}->{}", downText(tree), rank_, tree.up);
    };
    add(fmt::format("NVLS Trees : {} {}", text(links.trees[0]), text(links.trees[1])));
  }

  void addNvlsTuning() {
    const ViewDecisions& mine = c_.of(rank_);
    add(fmt::format("NVLS tuning: nChannels {} chunkSize {} treeMaxChunkSize {}", mine.nvlsChannels,
                    c_.nvlsChunkBytes, c_.nvlsTreeChunkBytes));
  }

  void addTreesSummary() {
    std::string text = "Trees";
    for (int channel = 0; channel < channels_; ++channel) {
      const TreeLinks links = treeOf(c_, rank_, channel);
      text += fmt::format(" [{}] {}->{}->{}", channel, downText(links), rank_, links.up);
    }
    add(std::move(text), Subsystem::kInit);
  }

  const Connections& c_;
  int rank_;
  int channels_;
  std::vector<LogLine> lines_;
};

}  // namespace

std::vector<LogLine> connectLines(const Connections& connections, int rank) {
  return ConnectLog(connections, rank).write();
}

LogLine channelCountLine(const Connections& connections, int rank) {
  const ViewDecisions& mine = connections.of(rank);
  const int channels = mine.channels.total();
  return {
      LogLevel::kInfo, Subsystem::kInit,
      fmt::format("{} coll channels, {} collnet channels, {} nvls channels, {} p2p channels, {} p2p channels "
                  "per peer",
                  channels, channels, mine.nvlsChannels, mine.p2pChannels, mine.p2pChannelsPerPeer)};
}

}  // namespace xylem::connect
