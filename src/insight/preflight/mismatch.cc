#include "insight/preflight/mismatch.h"

#include <algorithm>
#include <array>

namespace xylem::preflight {
namespace {

constexpr std::array kAllOperands = {Operands::kSum, Operands::kMaximum, Operands::kSmallFloat,
                                     Operands::kAverage};
constexpr std::array kAllSetups = {Setup::kChannels, Setup::kNvlsChannels, Setup::kCollnetHeads};

// Sizes in bytes.
constexpr std::uint64_t kFirstSample = 16;
constexpr std::uint64_t kLastSample = std::uint64_t{16} << 30;

template <typename T>
bool allEqual(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [&](const T& value) { return value == values.front(); });
}

// True if both models choose alike for every operation. Many kinds of hosts have such models.
bool chooseAlike(const tuning::TuningModel& a, const tuning::TuningModel& b) {
  return a.latency == b.latency && a.bandwidth == b.bandwidth && a.excluded == b.excluded &&
         a.maxThreads == b.maxThreads && a.threadThreshold == b.threadThreshold &&
         a.input.nChannels == b.input.nChannels && a.input.nvlsChannels == b.input.nvlsChannels &&
         a.input.collnetHeads == b.input.collnetHeads;
}

// Returns by view the first view that chooses alike.
std::vector<std::size_t> firstAlike(const std::vector<tuning::TuningModel>& tuning) {
  std::vector<std::size_t> first;
  std::vector<std::size_t> distinct;
  for (std::size_t view = 0; view < tuning.size(); ++view) {
    const auto same = std::find_if(distinct.begin(), distinct.end(), [&](std::size_t other) {
      return chooseAlike(tuning[view], tuning[other]);
    });
    const bool isNew = same == distinct.end();
    first.push_back(isNew ? view : *same);
    if (isNew) distinct.push_back(view);
  }
  return first;
}

// Walks the sorted ranges of all views in parallel, from boundary to boundary, and returns the stretches on
// which the views' choices differ.
std::vector<CollectiveMismatch> overlaps(const std::vector<tuning::TuningModel>& tuning,
                                         const std::vector<std::size_t>& alike, Collective collective,
                                         Operands operands) {
  std::vector<std::vector<tuning::ChoiceRange>> ranges(tuning.size());  // empty for views like an earlier one
  for (std::size_t view = 0; view < tuning.size(); ++view)
    if (alike[view] == view)
      ranges[view] = tuning::choiceRanges(tuning[view], operationOf(collective, operands));
  std::vector<CollectiveMismatch> found;
  std::vector<std::size_t> at(tuning.size(), 0);
  for (std::uint64_t first = 1; first <= tuning::kMaxBytes;) {
    CollectiveMismatch here{collective, operands, first, tuning::kMaxBytes, {}};
    bool tooLarge = false;
    for (std::size_t view : alike) {
      tooLarge = tooLarge || (!ranges[view][at[view]].pick.runs && ranges[view].front().pick.runs);
      here.last = std::min(here.last, ranges[view][at[view]].last);
      here.byView.push_back(ranges[view][at[view]].pick);
    }
    for (std::size_t view = 0; view < ranges.size(); ++view)
      if (alike[view] == view && ranges[view][at[view]].last == here.last) ++at[view];
    first = here.last + 1;
    // A rank refuses sizes that would take more than an hour. If only some ranks do, the call fails with an
    // error instead of hanging, so it does not count as a mismatch.
    if (!tooLarge && !allEqual(here.byView)) found.push_back(std::move(here));
  }
  return found;
}

bool sameBut(const std::vector<CollectiveMismatch>& a, const std::vector<CollectiveMismatch>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const CollectiveMismatch& x, const CollectiveMismatch& y) {
                      return x.first == y.first && x.last == y.last && x.byView == y.byView;
                    });
}

TransferInput transferInput(const connect::Connections& c, std::size_t view,
                            const tuning::TuningOptions& options) {
  return {.channels = c.views[view].p2pChannels,
          .perPeer = c.views[view].p2pChannelsPerPeer,
          .ranks = c.job.ranks(),
          .nodes = c.nodes.count(),
          .llBufferBytes = options.bufferBytes[Protocol::kLl],
          .simpleBufferBytes = options.bufferBytes[Protocol::kSimple]};
}

int ofSetup(const connect::ViewDecisions& view, Setup setup) {
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

tuning::Operation operationOf(Collective collective, Operands operands) {
  tuning::Operation operation{.collective = collective};
  if (operands == Operands::kMaximum) operation.reduction = ReduceOp::kMax;
  if (operands == Operands::kAverage) operation.reduction = ReduceOp::kAvg;
  if (operands == Operands::kSmallFloat) operation.type = DataType::kFloat8e4m3;
  return operation;
}

std::vector<CollectiveMismatch> collectiveMismatches(const std::vector<tuning::TuningModel>& tuning) {
  std::vector<CollectiveMismatch> all;
  const std::vector<std::size_t> alike = firstAlike(tuning);
  if (std::all_of(alike.begin(), alike.end(), [](std::size_t view) { return view == 0; })) return all;
  for (Collective collective : kAllCollectives) {
    std::vector<std::vector<CollectiveMismatch>> known;
    for (Operands operands : kAllOperands) {
      if (operands != Operands::kSum && !reduces(collective)) continue;
      std::vector<CollectiveMismatch> found = overlaps(tuning, alike, collective, operands);
      const bool isKnown =
          std::any_of(known.begin(), known.end(), [&](const auto& other) { return sameBut(found, other); });
      if (isKnown) continue;
      all.insert(all.end(), found.begin(), found.end());
      known.push_back(std::move(found));
    }
  }
  return all;
}

std::vector<TransferMismatch> transferMismatches(const connect::Connections& c,
                                                 const std::vector<tuning::TuningModel>& tuning) {
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
    TransferMismatch here{bounds[i], i + 1 < bounds.size() ? bounds[i + 1] - 1 : tuning::kMaxBytes, {}};
    for (const TransferInput& input : inputs) here.byView.push_back(transferSplit(input, here.first));
    if (allEqual(here.byView)) continue;
    if (!found.empty() && found.back().last + 1 == here.first && found.back().byView == here.byView)
      found.back().last = here.last;
    else
      found.push_back(std::move(here));
  }
  return found;
}

std::vector<Setup> setupMismatches(const connect::Connections& c) {
  std::vector<Setup> found;
  for (Setup setup : kAllSetups)
    if (std::any_of(c.views.begin(), c.views.end(), [&](const connect::ViewDecisions& view) {
          return ofSetup(view, setup) != ofSetup(c.views.front(), setup);
        }))
      found.push_back(setup);
  return found;
}

bool disagreeOnSamples(const connect::Connections& c, const std::vector<tuning::TuningModel>& tuning) {
  if (!setupMismatches(c).empty() || !transferMismatches(c, tuning).empty()) return true;
  const std::vector<std::size_t> alike = firstAlike(tuning);
  for (Collective collective : kAllCollectives)
    for (std::uint64_t bytes = kFirstSample; bytes <= kLastSample; bytes *= 2) {
      tuning::Operation operation = operationOf(collective, Operands::kSum);
      operation.bytes = bytes;
      const tuning::Pick first = tuning::pickOf(tuning::choose(tuning.front(), operation));
      for (std::size_t view = 1; view < tuning.size(); ++view)
        if (alike[view] == view && tuning::pickOf(tuning::choose(tuning[view], operation)) != first)
          return true;
    }
  return false;
}

}  // namespace xylem::preflight
