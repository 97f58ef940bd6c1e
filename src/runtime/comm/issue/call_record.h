#pragma once
// What one rank calls in one group, as it tells all others in checked mode, and what there is to say if they
// differ. Only collectives count: who sends and receives is a matter of pairs.
//
//   const CallRecord mine(calls);
//   if (const std::string words = differences(records, 17); !words.empty()) throw Error(..., words);

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/issue/call_signature.h"

namespace xylem {

// Of one group. The first calls are told one by one, the rest only by their hash.
class CallRecord {
 public:
  static constexpr std::size_t kMostTold = 16;
  static constexpr std::size_t kHeadWords = 2;

  CallRecord() = default;
  explicit CallRecord(std::span<const CallSignature> calls);

  // On its way: the head says how many words follow it.
  std::vector<std::uint64_t>& words() { return words_; }
  const std::vector<std::uint64_t>& words() const { return words_; }
  static std::size_t wordsAfter(std::span<const std::uint64_t> head);

  std::uint64_t calls() const { return words_.empty() ? 0 : words_[0]; }
  // Of those that are told; nothing beyond the last call, or if it is no call.
  std::optional<CallSignature> call(std::size_t index) const;
  bool operator==(const CallRecord&) const = default;

 private:
  std::vector<std::uint64_t> words_;  // how many calls, their hash, the first of them
};

// `ranks 0-2, 5` or `rank 3`; of ascending ranks.
std::string rankRanges(const std::vector<int>& ranks);

// Who calls what, where they first differ: by rank. Nothing if all are the same. `first` is the number of the
// group's first call among the communicator's collectives.
std::string differences(std::span<const CallRecord> records, std::uint64_t first);

}  // namespace xylem
