#include "runtime/comm/issue/call_record.h"

#include <fmt/format.h>

#include <algorithm>

namespace xylem {
namespace {

constexpr std::size_t kCallWords = std::tuple_size_v<CallWords>;
constexpr std::size_t kMostRanges = 8;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

std::string callText(const CallRecord& record, std::size_t index) {
  if (const auto call = record.call(index)) return describe(*call);
  if (index >= record.calls())
    return record.calls() == 0 ? "no collective" : fmt::format("a group of only {}", record.calls());
  return "something else";
}

}  // namespace

CallRecord::CallRecord(std::span<const CallSignature> calls) {
  const std::size_t told = std::min(calls.size(), kMostTold);
  words_.reserve(kHeadWords + told * kCallWords);
  words_ = {calls.size(), 0};
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CallWords call = pack(calls[i]);
    for (const std::uint64_t word : call) hash = mix(hash, word);
    if (i < told) words_.insert(words_.end(), call.begin(), call.end());
  }
  words_[1] = hash;
}

std::size_t CallRecord::wordsAfter(std::span<const std::uint64_t> head) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(head[0], kMostTold)) * kCallWords;
}

std::optional<CallSignature> CallRecord::call(std::size_t index) const {
  const std::size_t at = kHeadWords + index * kCallWords;
  if (index >= kMostTold || at + kCallWords > words_.size()) return std::nullopt;
  return unpackCall({words_[at], words_[at + 1], words_[at + 2]});
}

std::string rankRanges(const std::vector<int>& ranks) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (ranges.size() == kMostRanges) {
      ranges.push_back(fmt::format("... ({} ranks in all)", ranks.size()));
      break;
    }
    ranges.push_back(last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranges, ", "));
}

std::string differences(std::span<const CallRecord> records, std::uint64_t first) {
  const bool same = std::all_of(records.begin(), records.end(),
                                [&](const CallRecord& record) { return record == records.front(); });
  if (same) return "";
  std::size_t index = 0;
  const auto differ = [&](std::size_t i) {
    return std::any_of(records.begin(), records.end(),
                       [&](const CallRecord& record) { return record.call(i) != records.front().call(i); });
  };
  while (index < CallRecord::kMostTold && !differ(index)) ++index;
  if (index == CallRecord::kMostTold)
    return fmt::format("groups of {} or more calls that differ after the first {}", records.front().calls(),
                       CallRecord::kMostTold);
  // In the order of their lowest ranks.
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const std::string text = callText(records[rank], index);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == text; });
    if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
    group->second.push_back(static_cast<int>(rank));
  }
  std::vector<std::string> parts;
  for (const auto& [text, ranks] : groups) parts.push_back(rankRanges(ranks) + ": " + text);
  return fmt::format("collective #{}: {}", first + index, fmt::join(parts, "; "));
}

}  // namespace xylem
