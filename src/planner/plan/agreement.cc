#include "planner/plan/agreement.h"

#include <array>
#include <bit>

#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/tuning/choice.h"

namespace xylem::plan {
namespace {

constexpr std::array kAllDecided = {
    Decided::kBandwidths, Decided::kChoice,       Decided::kCollnetHeads, Decided::kLatencies,
    Decided::kChannels,   Decided::kNvlsChannels, Decided::kP2pChannels,  Decided::kP2pChannelsPerPeer};

constexpr std::uint64_t kSmallest = 8;                      // bytes
constexpr std::uint64_t kLargest = std::uint64_t{8} << 30;  // bytes

bool sameChoice(const tuning::Choice& a, const tuning::Choice& b) {
  if (a.best() == nullptr || b.best() == nullptr) return a.best() == b.best();
  return a.best()->algorithm == b.best()->algorithm && a.best()->protocol == b.best()->protocol &&
         a.best()->time == b.best()->time && a.channels == b.channels && a.warps == b.warps;
}

// Compares at eight sizes per power of two: a range of sizes with another choice can be narrow.
bool sameChoices(const tuning::TuningModel& a, const tuning::TuningModel& b) {
  for (Collective collective : kAllCollectives)
    for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes += std::bit_floor(bytes) / 8) {
      const tuning::Operation operation{.collective = collective, .bytes = bytes};
      if (!sameChoice(tuning::choose(a, operation), tuning::choose(b, operation))) return false;
    }
  return true;
}

// Counts the ends at which the rings enter or leave the node of `firstRank` without a NIC.
int netErrorsOf(const Plan& plan, const connect::NetChoice& choice, int firstRank) {
  const connect::Connections& c = plan.connections;
  int errors = 0;
  for (int rank : c.nodes.ranks(c.nodes.ofRank[static_cast<std::size_t>(firstRank)])) {
    for (int channel = 0; channel < c.of(rank).channels.total(); ++channel) {
      const connect::RingNeighbours ring = connect::ringNeighbours(c, rank, channel);
      for (paths::Direction direction : {paths::Direction::kSend, paths::Direction::kReceive}) {
        const int peer = direction == paths::Direction::kSend ? ring.next : ring.previous;
        const auto end = choice.ringEnd(rank, channel, peer, direction);
        if (end && end->net == topology::kNoNode) ++errors;
      }
    }
  }
  return errors;
}

}  // namespace

const char* name(Decided what) {
  switch (what) {
    case Decided::kBandwidths:
      return "bandwidths";
    case Decided::kChoice:
      return "choice";
    case Decided::kCollnetHeads:
      return "collNetHeadsNum";
    case Decided::kLatencies:
      return "latencies";
    case Decided::kChannels:
      return "nChannels";
    case Decided::kNvlsChannels:
      return "nvlsChannels";
    case Decided::kP2pChannels:
      return "p2pnChannels";
    case Decided::kP2pChannelsPerPeer:
      return "p2pnChannelsPerPeer";
  }
  return "";
}

bool hangs(Decided what) { return what != Decided::kBandwidths && what != Decided::kLatencies; }

bool differ(const Plan& plan, int viewA, int viewB, Decided what) {
  const connect::ViewDecisions& a = plan.connections.views[static_cast<std::size_t>(viewA)];
  const connect::ViewDecisions& b = plan.connections.views[static_cast<std::size_t>(viewB)];
  const tuning::TuningModel& modelA = plan.tuning[static_cast<std::size_t>(viewA)];
  const tuning::TuningModel& modelB = plan.tuning[static_cast<std::size_t>(viewB)];
  switch (what) {
    case Decided::kBandwidths:
      return modelA.bandwidth != modelB.bandwidth;
    case Decided::kChoice:
      return !sameChoices(modelA, modelB);
    case Decided::kCollnetHeads:
      return a.collnetHeads != b.collnetHeads;
    case Decided::kLatencies:
      return modelA.latency != modelB.latency;
    case Decided::kChannels:
      return a.channels.total() != b.channels.total();
    case Decided::kNvlsChannels:
      return a.nvlsChannels != b.nvlsChannels;
    case Decided::kP2pChannels:
      return a.p2pChannels != b.p2pChannels;
    case Decided::kP2pChannelsPerPeer:
      return a.p2pChannelsPerPeer != b.p2pChannelsPerPeer;
  }
  return false;
}

std::vector<int> ringEndsWithoutNic(const Plan& plan) {
  std::vector<int> ends(plan.hostPlans.size(), 0);
  if (plan.connections.nodes.count() == 1) return ends;
  const connect::NetChoice choice(plan.connections, plan.reach);
  // Nodes of one view are alike: the first of each is counted.
  std::vector<bool> known(ends.size(), false);
  for (int first : plan.connections.nodes.firstRank) {
    const auto view = static_cast<std::size_t>(plan.job().viewOf(first));
    if (!known[view]) ends[view] = netErrorsOf(plan, choice, first);
    known[view] = true;
  }
  return ends;
}

Agreement agreementOf(const Plan& plan) {
  Agreement agreement;
  const auto views = static_cast<int>(plan.hostPlans.size());
  for (Decided what : kAllDecided)
    for (int view = 1; view < views; ++view)
      if (differ(plan, 0, view, what)) {
        agreement.differ.push_back(what);
        break;
      }
  const std::vector<int> ends = ringEndsWithoutNic(plan);
  for (int first : plan.connections.nodes.firstRank)
    agreement.netErrors += ends[static_cast<std::size_t>(plan.job().viewOf(first))];
  return agreement;
}

}  // namespace xylem::plan
