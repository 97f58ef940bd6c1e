#include "planner/tuning/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "planner/tuning/chunk_size.h"
#include "planner/tuning/steps.h"

namespace xylem::tuning {
namespace {

constexpr std::uint64_t kCellGrain = 16;  // bytes

// Bytes on the links of a rank per byte of the operation (of one rank for AllGather and ReduceScatter).
std::uint64_t trafficPerByte(Collective collective, int ranks) {
  if (collective == Collective::kAllReduce) return 2;
  return gathersOrScatters(collective) ? static_cast<std::uint64_t>(ranks) : 1;
}

// Operations of a kind share channels.
struct Kind {
  bool collnet;
  bool nvls;
  auto operator<=>(const Kind&) const = default;
};
constexpr std::array<Kind, 4> kKinds = {{{false, false}, {false, true}, {true, false}, {true, true}}};

Kind kindOf(const TuningInput& input, Algorithm algorithm) {
  const bool throughNetwork = algorithm == Algorithm::kNvls && input.nodes > 1;
  return {isCollnet(algorithm) || throughNetwork, isNvls(algorithm)};
}

// Splits the operations of one kind. Every channel should carry the same share of their traffic. A cursor (a
// channel and the traffic it carries already) moves over the channels: each operation begins at the cursor,
// fills up that channel, takes whole channels and leaves the rest to the last one, where the next operation
// begins.
class KindSplitter {
 public:
  KindSplitter(const TuningModel& model, std::span<const SplitTask> tasks, Kind kind)
      : model_(model),
        tasks_(tasks),
        kind_(kind),
        least_(static_cast<std::uint64_t>(model.input.rules->leastTraffic)),
        channels_(kind.nvls ? model.input.nvlsChannels : model.input.nChannels) {
    // NVLS may have more channels than the communicator, but between nodes it goes through those of CollNet.
    if (kind.nvls && kind.collnet && !model.input.rules->nvlsAddsChannels)
      channels_ = std::min(channels_, model.input.nChannels);
  }

  void run(std::vector<Split>& splits) {
    std::uint64_t traffic = 0;
    int wanted = 0;
    for (const SplitTask& task : tasks_) {
      if (kindOf(model_.input, task.algorithm) != kind_) continue;
      const std::uint64_t perByte = trafficPerByte(task);
      traffic += std::max(least_, task.count * task.elementBytes * perByte);
      wanted = std::min(wanted + task.channels, channels_);
    }
    if (wanted <= 0) return;
    share_ = traffic / static_cast<std::uint64_t>(wanted);
    share_ = model_.input.rules->wholePartsOnly ? std::max(least_, share_)
                                                : divideUp(share_, kCellGrain) * kCellGrain;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (kindOf(model_.input, tasks_[i].algorithm) != kind_) continue;
      splits.push_back(kind_.collnet ? evenly(tasks_[i]) : alongTheCursor(tasks_[i]));
      splits.back().task = i;
    }
  }

 private:
  // By newer rules LL's flags, and its slower channels, count.
  std::uint64_t trafficPerByte(const SplitTask& task) const {
    const std::uint64_t perByte = tuning::trafficPerByte(task.collective, model_.input.ranks);
    const auto factor = static_cast<std::uint64_t>(model_.input.rules->llTraffic);
    return task.protocol == Protocol::kLl ? perByte * factor : perByte;
  }

  // A task's cells on its channels. A cell is the smallest part of the data, worth the least traffic.
  struct Layout {
    std::uint64_t low = 0;
    std::uint64_t middle = 0;  // on each channel between the ends
    int middleChannels = 0;
    std::uint64_t high = 0;
  };

  std::int64_t chunkOf(const SplitTask& task, std::uint64_t count, int channels) const {
    if (count == 0) return 0;
    const std::uint64_t copies =
        gathersOrScatters(task.collective) ? static_cast<std::uint64_t>(model_.input.ranks) : 1;
    return chunkBytes(model_, {.collective = task.collective,
                               .algorithm = task.algorithm,
                               .protocol = task.protocol,
                               .bytes = count * task.elementBytes * copies,
                               .channels = channels});
  }

  // CollNet works on all of its channels at once.
  Split evenly(const SplitTask& task) const {
    Split split;
    split.lastChannel = task.channels - 1;
    split.together = true;
    split.low = {task.count, chunkOf(task, task.count, task.channels)};
    return split;
  }

  Layout layOut(std::uint64_t cells, std::uint64_t cellTraffic) {
    Layout layout;
    std::uint64_t perChannel = std::min(cells, divideUp(share_, cellTraffic));
    const bool last = channel_ + 1 == channels_;
    layout.low = last ? cells : std::min(cells, divideUp(share_ - used_, cellTraffic));
    const std::uint64_t rest = cells - layout.low;
    std::uint64_t full = perChannel == 0 ? 0 : rest / perChannel;
    layout.high = perChannel == 0 ? 0 : rest % perChannel;
    const std::uint64_t ends = (layout.low != 0 ? 1u : 0u) + (layout.high != 0 ? 1u : 0u);
    // More channels than there are: the rest is divided evenly over those that follow the first.
    if (static_cast<std::uint64_t>(channel_) + ends + full > static_cast<std::uint64_t>(channels_)) {
      full = static_cast<std::uint64_t>(channels_ - channel_ - 2);
      perChannel = rest / (full + 1);
      layout.high = perChannel + rest % (full + 1);
    }
    // A whole channel at the end becomes the high part.
    if (layout.high == 0 && full != 0) {
      layout.high = perChannel;
      --full;
    }
    // Nothing fits onto the cursor's channel: the run begins at the next one.
    if (layout.low == 0) {
      ++channel_;
      layout.low = full == 0 ? layout.high : perChannel;
      if (full == 0)
        layout.high = 0;
      else
        --full;
    }
    layout.middle = full == 0 ? 0 : perChannel;
    layout.middleChannels = static_cast<int>(full);
    return layout;
  }

  Split alongTheCursor(const SplitTask& task) {
    if (task.count == 0) return {.firstChannel = channel_, .lastChannel = channel_};
    const std::uint64_t perByte = trafficPerByte(task);
    const std::uint64_t cell = divideUp(divideUp(least_, perByte), kCellGrain) * kCellGrain;
    const std::uint64_t cellTraffic = cell * perByte;
    const std::uint64_t elements = cell / task.elementBytes;
    const std::uint64_t cells = divideUp(task.count * task.elementBytes, cell);
    const Layout layout = layOut(cells, cellTraffic);

    Split split;
    split.low.count = layout.low * elements;
    split.middle.count = layout.middle * elements;
    split.high.count = layout.high * elements;
    (layout.high != 0 ? split.high : split.low).count -= cells * elements - task.count;
    for (SplitPiece* piece : {&split.low, &split.middle, &split.high})
      piece->chunkBytes = chunkOf(task, piece->count, 1);
    split.firstChannel = channel_;
    const int used = (layout.low != 0 ? 1 : 0) + layout.middleChannels + (layout.high != 0 ? 1 : 0);
    split.lastChannel = channel_ + std::max(used - 1, 0);
    advance(split, layout, cellTraffic);
    return split;
  }

  // Moves the cursor behind the task.
  void advance(const Split& split, const Layout& layout, std::uint64_t cellTraffic) {
    if (layout.high != 0) {
      channel_ = split.lastChannel;
      used_ = layout.high * cellTraffic;
    } else if (layout.middleChannels != 0) {
      channel_ = split.lastChannel + 1;
      used_ = 0;
    } else {
      used_ += layout.low * cellTraffic;
    }
    if (used_ >= share_ && channel_ + 1 != channels_) {
      ++channel_;
      used_ = 0;
    }
  }

  const TuningModel& model_;
  std::span<const SplitTask> tasks_;
  Kind kind_;
  std::uint64_t least_;      // bytes; less traffic is not worth a channel
  int channels_;             // available to operations of this kind
  std::uint64_t share_ = 0;  // traffic that a channel should carry, in bytes
  int channel_ = 0;          // where the next operation starts
  std::uint64_t used_ = 0;   // traffic that this channel carries already, in bytes
};

}  // namespace

std::vector<Split> splitOverChannels(const TuningModel& model, std::span<const SplitTask> tasks) {
  std::vector<Split> splits;
  splits.reserve(tasks.size());
  for (const Kind kind : kKinds) KindSplitter(model, tasks, kind).run(splits);
  return splits;
}

LogLine splitLine(const SplitTask& task, const Split& split) {
  return {LogLevel::kInfo, Subsystem::kTuning,
          fmt::format("{}: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{{}..{}}}", name(task.collective),
                      task.count * task.elementBytes, upperName(task.algorithm), upperName(task.protocol),
                      split.firstChannel, split.lastChannel)};
}

}  // namespace xylem::tuning
