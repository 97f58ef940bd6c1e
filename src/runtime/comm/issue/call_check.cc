#include "runtime/comm/issue/call_check.h"

#include <fmt/core.h>

#include <algorithm>

namespace xylem {
namespace {

// Words carry their own flag: one cache line fewer than Simple.
constexpr Protocol kProtocol = Protocol::kLl;

}  // namespace

CallCheck::CallCheck(int rank, int ranks, SendEnd& next, RecvEnd& previous)
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

CallRecord& CallCheck::recordBefore(std::size_t distance) {
  return records_[static_cast<std::size_t>(rankBefore(distance))];
}

void CallCheck::begin(std::span<const CallSignature> calls) {
  for (CallRecord& record : records_) record.words().clear();
  records_[static_cast<std::size_t>(rank_)] = CallRecord(calls);
  sent_ = received_ = {};
}

// Round r passes on the record of the rank r places before this one: the first is our own.
bool CallCheck::sendSome() {
  const auto rounds = static_cast<std::size_t>(ranks_ - 1);
  bool any = false;
  while (sent_.round < rounds && sent_.round <= received_.round) {
    const std::vector<std::uint64_t>& words = recordBefore(sent_.round).words();
    // The head goes first, by itself: it tells how much follows.
    const std::size_t end =
        sent_.word == 0 ? CallRecord::kHeadWords : std::min(words.size(), sent_.word + stepWords_);
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
    if (received_.word == 0 && words.size() != CallRecord::kHeadWords) words.resize(CallRecord::kHeadWords);
    const std::size_t end =
        received_.word == 0 ? CallRecord::kHeadWords : std::min(words.size(), received_.word + stepWords_);
    const auto bytes = std::as_writable_bytes(std::span(words).subspan(received_.word, end - received_.word));
    if (!previous_.take(kProtocol, bytes.data(), bytes.size())) break;
    any = true;
    if (received_.word == 0) words.resize(CallRecord::kHeadWords + CallRecord::wordsAfter(words));
    received_.word = end;
    if (end == words.size()) received_ = {received_.round + 1, 0};
  }
  return any;
}

Progress CallCheck::step() {
  const auto rounds = static_cast<std::size_t>(ranks_ - 1);
  bool any = false;
  while (sendSome() | receiveSome()) any = true;
  // What others still wait for goes out before any verdict.
  if (sent_.round < rounds || received_.round < rounds)
    return any ? Progress::kAdvanced : Progress::kWouldBlock;
  judge();
  return Progress::kDone;
}

void CallCheck::judge() {
  if (const std::string words = differences(records_, first_); !words.empty())
    throw Error(ResultCode::kInvalidUsage, "the ranks do not call the same: {} (found by XYLEM_CHECK=1)",
                words);
  const CallRecord& mine = records_[static_cast<std::size_t>(rank_)];
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

}  // namespace xylem
