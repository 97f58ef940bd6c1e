#include "planner/connect/channel_count.h"

#include <algorithm>

#include "core/settings.h"
#include "planner/paths/locality.h"

namespace xylem::connect {
namespace {

// Bytes of the kernel's arguments: the header, and each channel.
constexpr int kWorkArgsHeader = 32;
constexpr int kWorkArgsPerChannel = 16;

// Appends channels until there are `end`: channel c copies the source of channel c - count.
void copyUpTo(std::vector<int>& sources, int end) {
  const auto count = sources.size();
  for (auto c = count; c < static_cast<std::size_t>(std::max(end, 0)); ++c)
    sources.push_back(sources[c - count]);
}

// The value of the first variable that is set (-2 counts as unset), or `fallback`.
int firstSet(const Settings& settings, Setting name, Setting older, int fallback) {
  for (Setting setting : {name, older})
    if (settings.isSet(setting) && settings.integer(setting) != -2)
      return static_cast<int>(settings.integer(setting));
  return fallback;
}

}  // namespace

ChannelLimits ChannelLimits::from(const Settings& settings) {
  ChannelLimits limits;
  limits.userMax =
      std::min(firstSet(settings, Setting::kMaxNChannels, Setting::kMaxNRings, paths::kMaxChannels),
               paths::kMaxChannels);
  if (settings.isSet(Setting::kWorkArgsBytes)) {
    const auto bytes = static_cast<int>(settings.integer(Setting::kWorkArgsBytes));
    limits.argumentMax = std::min(paths::kMaxChannels, (bytes - kWorkArgsHeader) / kWorkArgsPerChannel);
    limits.userMax = std::min(limits.userMax, limits.argumentMax);
  }
  limits.userMax = std::max(limits.userMax, 1);
  limits.userMin =
      std::clamp(firstSet(settings, Setting::kMinNChannels, Setting::kMinNRings, 0), 0, paths::kMaxChannels);
  const auto ctas = [&](Setting setting) {
    return static_cast<int>(std::min<std::int64_t>(settings.integer(setting), paths::kMaxChannels));
  };
  limits.maxCtas = ctas(Setting::kMaxCtas);
  limits.minCtas = std::min(ctas(Setting::kMinCtas), limits.maxCtas);
  return limits;
}

// Each rule extends or cuts the list of sources, and is noted with the count before and after it.
ChannelCounts countChannels(const ChannelCountInput& input, const ChannelLimits& limits) {
  ChannelCounts counts;
  std::vector<int>& sources = counts.source;
  int before = 0;
  const auto note = [&](CountRule rule, bool applies) {
    counts.steps.push_back({rule, applies, before, counts.total()});
    before = counts.total();
  };
  for (int c = 0; c < std::min(2 * input.searched, paths::kMaxChannels); ++c) sources.push_back(c);
  counts.steps.push_back({CountRule::kSearched, true, 0, before = input.searched});
  note(CountRule::kTwoTrees, true);
  if (input.collnetFaster)
    copyUpTo(sources, std::min(paths::kMaxChannels, counts.total() + counts.total() / 2));
  note(CountRule::kCollnet, input.collnetFaster);
  const bool fast = input.lowestSm >= kDoubleFromSm && input.nodes > 1 && input.ringBandwidth > kDoubleFrom &&
                    counts.total() < kDoubleBelow;
  if (fast) copyUpTo(sources, 2 * counts.total());
  note(CountRule::kFastGpus, fast);
  sources.resize(static_cast<std::size_t>(std::min({limits.userMax, counts.total(), limits.maxCtas})));
  note(CountRule::kMost, counts.total() < before);
  copyUpTo(sources, std::max(limits.userMin, limits.minCtas));
  note(CountRule::kLeast, counts.total() > before);
  counts.collective = counts.total();
  copyUpTo(sources, input.nvlsChannels);
  note(CountRule::kNvls, counts.total() > before);
  return counts;
}

}  // namespace xylem::connect
