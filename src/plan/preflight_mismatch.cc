#include "plan/preflight_mismatch.h"

#include <algorithm>
#include <array>

namespace xylem {
namespace {

constexpr std::array kAllOperands = {Operands::kSum, Operands::kMaximum, Operands::kSmallFloat,
                                     Operands::kAverage};
constexpr std::array kAllSetups = {Setup::kChannels, Setup::kNvlsChannels, Setup::kCollnetHeads};

bool reduces(Collective collective) {
  return collective != Collective::kBroadcast && collective != Collective::kAllGather;
}

template <typename T>
bool allEqual(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [&](const T& value) { return value == values.front(); });
}

// The overlaps of the views' ranges on which their picks differ.
std::vector<CollectiveMismatch> overlaps(const std::vector<TuningModel>& tuning, Collective collective,
                                         Operands operands) {
  std::vector<std::vector<ChoiceRange>> ranges;
  for (const TuningModel& model : tuning)
    ranges.push_back(choiceRanges(model, operationOf(collective, operands)));
  std::vector<CollectiveMismatch> found;
  std::vector<std::size_t> at(ranges.size(), 0);
  for (std::uint64_t first = 1; first <= kMostBytes;) {
    CollectiveMismatch here{collective, operands, first, kMostBytes, {}};
    for (std::size_t view = 0; view < ranges.size(); ++view) {
      here.last = std::min(here.last, ranges[view][at[view]].last);
      here.byView.push_back(ranges[view][at[view]].pick);
    }
    for (std::size_t view = 0; view < ranges.size(); ++view)
      if (ranges[view][at[view]].last == here.last) ++at[view];
    first = here.last + 1;
    if (!allEqual(here.byView)) found.push_back(std::move(here));
  }
  return found;
}

bool sameBut(const std::vector<CollectiveMismatch>& a, const std::vector<CollectiveMismatch>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const CollectiveMismatch& x, const CollectiveMismatch& y) {
                      return x.first == y.first && x.last == y.last && x.byView == y.byView;
                    });
}

TransferInput transferInput(const Connections& c, std::size_t view, const TuningOptions& options) {
  return {.channels = c.views[view].p2pChannels,
          .perPeer = c.views[view].p2pChannelsPerPeer,
          .ranks = c.job.ranks(),
          .nodes = c.nodes.count(),
          .llBufferBytes = options.bufferBytes[Protocol::kLl],
          .simpleBufferBytes = options.bufferBytes[Protocol::kSimple]};
}

int ofSetup(const ViewDecisions& view, Setup setup) {
  switch (setup) {
    case Setup::kChannels:
      return view.channels.total();
    case Setup::kNvlsChannels:
      return view.nvlsChannels;
    case Setup::kCollnetHeads:
      return view.collnetHeads;
  }
  return 0;
}

}  // namespace

const char* name(Operands operands) {
  switch (operands) {
    case Operands::kSum:
      return "sum of float32";
    case Operands::kMaximum:
      return "max of float32";
    case Operands::kSmallFloat:
      return "sum of float8";
    case Operands::kAverage:
      return "average of float32";
  }
  return "";
}

const char* name(Setup setup) {
  switch (setup) {
    case Setup::kChannels:
      return "channels";
    case Setup::kNvlsChannels:
      return "nvlsChannels";
    case Setup::kCollnetHeads:
      return "collnetHeads";
  }
  return "";
}

Operation operationOf(Collective collective, Operands operands) {
  Operation operation{.collective = collective};
  if (operands == Operands::kMaximum) operation.reduction = ReduceOp::kMax;
  if (operands == Operands::kAverage) operation.reduction = ReduceOp::kAvg;
  if (operands == Operands::kSmallFloat) operation.type = DataType::kFloat8e4m3;
  return operation;
}

std::vector<CollectiveMismatch> collectiveMismatches(const std::vector<TuningModel>& tuning) {
  std::vector<CollectiveMismatch> all;
  if (tuning.size() < 2) return all;
  for (Collective collective : kAllCollectives) {
    std::vector<std::vector<CollectiveMismatch>> known;
    for (Operands operands : kAllOperands) {
      if (operands != Operands::kSum && !reduces(collective)) continue;
      std::vector<CollectiveMismatch> found = overlaps(tuning, collective, operands);
      const bool isKnown =
          std::any_of(known.begin(), known.end(), [&](const auto& other) { return sameBut(found, other); });
      if (isKnown) continue;
      all.insert(all.end(), found.begin(), found.end());
      known.push_back(std::move(found));
    }
  }
  return all;
}

std::vector<TransferMismatch> transferMismatches(const Connections& c,
                                                 const std::vector<TuningModel>& tuning) {
  std::vector<TransferInput> inputs;
  std::vector<std::uint64_t> bounds;
  for (std::size_t view = 0; view < c.views.size(); ++view) {
    inputs.push_back(transferInput(c, view, tuning[view].options));
    const std::vector<std::uint64_t> of = transferBounds(inputs.back());
    bounds.insert(bounds.end(), of.begin(), of.end());
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<TransferMismatch> found;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    TransferMismatch here{bounds[i], i + 1 < bounds.size() ? bounds[i + 1] - 1 : kMostBytes, {}};
    for (const TransferInput& input : inputs) here.byView.push_back(transferSplit(input, here.first));
    if (allEqual(here.byView)) continue;
    if (!found.empty() && found.back().last + 1 == here.first && found.back().byView == here.byView)
      found.back().last = here.last;
    else
      found.push_back(std::move(here));
  }
  return found;
}

std::vector<Setup> setupMismatches(const Connections& c) {
  std::vector<Setup> found;
  for (Setup setup : kAllSetups)
    if (std::any_of(c.views.begin(), c.views.end(), [&](const ViewDecisions& view) {
          return ofSetup(view, setup) != ofSetup(c.views.front(), setup);
        }))
      found.push_back(setup);
  return found;
}

int sampledMismatches(const Connections& c, const std::vector<TuningModel>& tuning) {
  int wrong = static_cast<int>(setupMismatches(c).size());
  if (!transferMismatches(c, tuning).empty()) ++wrong;
  for (Collective collective : kAllCollectives)
    for (std::uint64_t bytes = 16; bytes <= std::uint64_t{16} << 30; bytes *= 4) {
      Operation operation = operationOf(collective, Operands::kSum);
      operation.bytes = bytes;
      std::vector<Pick> picks;
      for (const TuningModel& model : tuning) picks.push_back(pickOf(choose(model, operation)));
      if (!allEqual(picks)) ++wrong;
    }
  return wrong;
}

}  // namespace xylem
