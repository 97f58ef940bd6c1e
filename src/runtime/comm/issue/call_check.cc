#include "runtime/comm/issue/call_check.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/number_ranges.h"

namespace xylem::comm {
namespace {

constexpr std::size_t kCallWords = std::tuple_size_v<CallWords>;
// LL's words carry their own flags: a message takes one cache line less than with Simple.
constexpr Protocol kProtocol = Protocol::kLl;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

std::string callText(const GroupCalls& record, std::size_t index) {
  if (const auto call = record.call(index)) return describe(*call);
  if (index >= record.calls())
    return record.calls() == 0 ? "no collective" : fmt::format("a group of only {}", record.calls());
  return "something else";
}

}  // namespace

GroupCalls::GroupCalls(std::span<const CallSignature> calls) {
  const std::size_t told = std::min(calls.size(), kMaxReported);
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

std::size_t GroupCalls::wordsAfter(std::span<const std::uint64_t> head) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(head[0], kMaxReported)) * kCallWords;
}

std::optional<CallSignature> GroupCalls::call(std::size_t index) const {
  const std::size_t at = kHeadWords + index * kCallWords;
  if (index >= kMaxReported || at + kCallWords > words_.size()) return std::nullopt;
  return unpackCall({words_[at], words_[at + 1], words_[at + 2]});
}

std::string differences(std::span<const GroupCalls> records, std::uint64_t first) {
  const bool same = std::all_of(records.begin(), records.end(),
                                [&](const GroupCalls& record) { return record == records.front(); });
  if (same) return "";
  std::size_t index = 0;
  const auto differ = [&](std::size_t i) {
    return std::any_of(records.begin(), records.end(),
                       [&](const GroupCalls& record) { return record.call(i) != records.front().call(i); });
  };
  while (index < GroupCalls::kMaxReported && !differ(index)) ++index;
  if (index == GroupCalls::kMaxReported)
    return fmt::format("groups of {} or more calls that differ after the first {}", records.front().calls(),
                       GroupCalls::kMaxReported);
  // Groups of ranks that call the same, in the order of their lowest ranks.
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

bool compareTransfer(const CheckedCall& mine, const collectives::TransferWork& ends, int peer,
                     CallWords& told) {
  const CallWords words = pack(mine.call);
  if (mine.call.function == Function::kSend)
    return ends.to->send(kProtocol, reinterpret_cast<const std::byte*>(words.data()), sizeof words);
  if (!ends.from->take(kProtocol, reinterpret_cast<std::byte*>(told.data()), sizeof told)) return false;
  const std::optional<CallSignature> sent = unpackCall(told);
  if (sent && sent->function == Function::kSend && sent->count == mine.call.count &&
      sent->type == mine.call.type)
    return true;
  throw Error(ResultCode::kInvalidUsage,
              "a receive does not fit its send: rank {}: {}; rank {}: {} (found by XYLEM_CHECK=1)", peer,
              sent ? describe(*sent) : "something else", mine.rank, describe(mine.call));
}

CallCheck::CallCheck(int rank, int ranks, transport::SendEnd& next, transport::RecvEnd& previous)
    : rank_(rank),
      ranks_(ranks),
      next_(next),
      previous_(previous),
      stepWords_(next.stepBytes(kProtocol) / sizeof(std::uint64_t)),
      records_(static_cast<std::size_t>(ranks)) {}

int CallCheck::rankBefore(std::size_t distance) const {
  return static_cast<int>((static_cast<std::size_t>(rank_ + ranks_) - distance) %
                          static_cast<std::size_t>(ranks_));
}

GroupCalls& CallCheck::recordBefore(std::size_t distance) {
  return records_[static_cast<std::size_t>(rankBefore(distance))];
}

void CallCheck::begin(std::span<const CallSignature> calls) {
  for (GroupCalls& record : records_) record.words().clear();
  records_[static_cast<std::size_t>(rank_)] = GroupCalls(calls);
  sent_ = received_ = {};
}

// In round r this rank passes on the record of the rank r places before it; in round 0 its own. It can send
// what it has received in the round before.
bool CallCheck::sendSome() {
  const auto rounds = static_cast<std::size_t>(ranks_ - 1);
  bool any = false;
  while (sent_.round < rounds && sent_.round <= received_.round) {
    const std::vector<std::uint64_t>& words = recordBefore(sent_.round).words();
    // The head goes alone: it tells the receiver how many words follow.
    const std::size_t end =
        sent_.word == 0 ? GroupCalls::kHeadWords : std::min(words.size(), sent_.word + stepWords_);
    const auto bytes = std::as_bytes(std::span(words).subspan(sent_.word, end - sent_.word));
    if (!next_.send(kProtocol, bytes.data(), bytes.size())) break;
    any = true;
    sent_.word = end;
    if (end == words.size()) sent_ = {sent_.round + 1, 0};
  }
  return any;
}

bool CallCheck::receiveSome() {
  const auto rounds = static_cast<std::size_t>(ranks_ - 1);
  bool any = false;
  while (received_.round < rounds) {
    std::vector<std::uint64_t>& words = recordBefore(received_.round + 1).words();
    if (received_.word == 0 && words.size() != GroupCalls::kHeadWords) words.resize(GroupCalls::kHeadWords);
    const std::size_t end =
        received_.word == 0 ? GroupCalls::kHeadWords : std::min(words.size(), received_.word + stepWords_);
    const auto bytes = std::as_writable_bytes(std::span(words).subspan(received_.word, end - received_.word));
    if (!previous_.take(kProtocol, bytes.data(), bytes.size())) break;
    any = true;
    if (received_.word == 0) words.resize(GroupCalls::kHeadWords + GroupCalls::wordsAfter(words));
    received_.word = end;
    if (end == words.size()) received_ = {received_.round + 1, 0};
  }
  return any;
}

device::Progress CallCheck::step() {
  const auto rounds = static_cast<std::size_t>(ranks_ - 1);
  bool any = false;
  while (sendSome() | receiveSome()) any = true;
  // Pass on all records before any verdict: the next ranks still wait for them.
  if (sent_.round < rounds || received_.round < rounds)
    return any ? device::Progress::kAdvanced : device::Progress::kWouldBlock;
  judge();
  return device::Progress::kDone;
}

void CallCheck::judge() {
  if (const std::string words = differences(records_, first_); !words.empty())
    throw Error(ResultCode::kInvalidUsage, "the ranks do not call the same: {} (found by XYLEM_CHECK=1)",
                words);
  const GroupCalls& mine = records_[static_cast<std::size_t>(rank_)];
  first_ += mine.calls();
  before_ = mine.call(static_cast<std::size_t>(mine.calls()) - 1);
}

int CallCheck::missing() const {
  return received_.round + 1 < static_cast<std::size_t>(ranks_) ? rankBefore(received_.round + 1) : -1;
}

std::string CallCheck::missingText() const {
  const int rank = missing();
  if (rank < 0) return "";
  const auto mine = records_[static_cast<std::size_t>(rank_)].call(0);
  std::vector<int> there;
  for (std::size_t distance = 0; distance <= received_.round; ++distance)
    there.push_back(rankBefore(distance));
  std::sort(there.begin(), there.end());
  return fmt::format("rank {} has not come to collective #{}, {}, where {} {}; {}", rank, first_,
                     mine ? describe(*mine) : "a group", rankRanges(there), there.size() == 1 ? "is" : "are",
                     first_ == 0 ? "it has come to none so far"
                                 : fmt::format("the last it came to was #{}{}", first_ - 1,
                                               before_ ? ", " + describe(*before_) : ""));
}

}  // namespace xylem::comm
