#include "connect/channel_count.h"

#include <algorithm>

#include "core/settings.h"
#include "paths/locality.h"

namespace xylem {
namespace {

// Hopper and later double once more up to this many channels when each ring has more bandwidth than this
// (GB/s).
constexpr int kDoubleBelow = 16;
constexpr float kDoubleFrom = 45.0f;
constexpr int kDoubleFromSm = 90;
// What of the kernel's arguments is not channels, and what each takes, in bytes.
constexpr int kWorkArgsHeader = 32;
constexpr int kWorkArgsPerChannel = 16;

// Channel c repeats what channel c - count is, for channels up to `end`.
void copyUpTo(std::vector<int>& sources, int end) {
  const auto count = sources.size();
  for (auto c = count; c < static_cast<std::size_t>(std::max(end, 0)); ++c)
    sources.push_back(sources[c - count]);
}

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
      std::min(firstSet(settings, Setting::kMaxNChannels, Setting::kMaxNRings, kMaxChannels), kMaxChannels);
  if (settings.isSet(Setting::kWorkArgsBytes)) {
    const auto bytes = static_cast<int>(settings.integer(Setting::kWorkArgsBytes));
    limits.argumentMax = std::min(kMaxChannels, (bytes - kWorkArgsHeader) / kWorkArgsPerChannel);
    limits.userMax = std::min(limits.userMax, limits.argumentMax);
  }
  limits.userMax = std::max(limits.userMax, 1);
  limits.userMin =
      std::clamp(firstSet(settings, Setting::kMinNChannels, Setting::kMinNRings, 0), 0, kMaxChannels);
  const auto ctas = [&](Setting setting) {
    return static_cast<int>(std::min<std::int64_t>(settings.integer(setting), kMaxChannels));
  };
  limits.maxCtas = ctas(Setting::kMaxCtas);
  limits.minCtas = std::min(ctas(Setting::kMinCtas), limits.maxCtas);
  return limits;
}

ChannelCounts countChannels(const ChannelCountInput& input, const ChannelLimits& limits) {
  ChannelCounts counts;
  std::vector<int>& sources = counts.source;
  for (int c = 0; c < std::min(2 * input.searched, kMaxChannels); ++c) sources.push_back(c);
  if (input.collnetFaster) copyUpTo(sources, std::min(kMaxChannels, counts.total() + counts.total() / 2));
  if (input.lowestSm >= kDoubleFromSm && input.nodes > 1 && input.ringBandwidth > kDoubleFrom &&
      counts.total() < kDoubleBelow)
    copyUpTo(sources, 2 * counts.total());
  sources.resize(static_cast<std::size_t>(std::min({limits.userMax, counts.total(), limits.maxCtas})));
  copyUpTo(sources, std::max(limits.userMin, limits.minCtas));
  counts.collective = counts.total();
  copyUpTo(sources, input.nvlsChannels);
  return counts;
}

}  // namespace xylem
