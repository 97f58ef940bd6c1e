#pragma once
// An input of the fuzzer of checked mode: this rank's calls, and the words that the rank before it in the
// ring passes on. For any words there is a verdict.
//
//   feedCallCheck(bytes);   // true if all call the same

#include <memory>
#include <new>
#include <vector>

#include "runtime/comm/issue/call_check.h"
#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"

namespace xylem {

// A queue for words.
class FuzzedWords {
 public:
  FuzzedWords()
      : memory_(static_cast<std::byte*>(::operator new (queueBytes(kSteps), std::align_val_t{4096}))) {
    std::memset(memory_.get(), 0, queueBytes(kSteps));
    new (memory_.get()) QueueControl{};
    clearLl(queueIn(memory_.get(), kSteps), 0);
  }
  QueueMemory queue() const { return queueIn(memory_.get(), kSteps); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
  };
  static inline const StepBytes kSteps = stepBytesFor(4096);
  const std::unique_ptr<std::byte, Free> memory_;
};

// The queue, reset for each input.
inline QueueMemory fuzzedWords(FuzzedWords& words) {
  const QueueMemory queue = words.queue();
  startAt(queue, 0);
  return queue;
}

inline CallSignature fuzzedCall(Input& input) {
  const auto words = input.take<CallWords>();
  return unpackCall(words).value_or(CallSignature{});
}

inline bool feedCallCheck(std::string_view bytes) {
  static FuzzedWords out, in;
  Input input(bytes);
  const int ranks = 2 + input.take<std::uint8_t>() % 3;
  const int rank = input.take<std::uint8_t>() % ranks;
  const QueueMemory toNext = fuzzedWords(out), fromPrevious = fuzzedWords(in);
  SendEnd next(1, toNext, nullptr);
  SendEnd theirs(1, fromPrevious, nullptr);
  RecvEnd previous(1, fromPrevious, nullptr);
  CallCheck check(rank, ranks, next, previous);
  std::vector<CallSignature> calls(input.take<std::uint8_t>() % (GroupCalls::kMaxReported + 3));
  for (CallSignature& call : calls) call = fuzzedCall(input);
  const bool echo = (input.take<std::uint8_t>() & 1) != 0;
  check.begin(calls);
  try {
    require(check.step() != Progress::kDone);
    for (int round = 1; round < ranks; ++round) {
      std::vector<std::uint64_t> words = GroupCalls(calls).words();
      if (!echo) {
        words.resize(GroupCalls::kHeadWords);
        for (std::uint64_t& word : words) word = input.take<std::uint64_t>();
        words.resize(words.size() + GroupCalls::wordsAfter(words));
      }
      // Let all other ranks call the same, except where the input changes bits.
      for (std::size_t i = GroupCalls::kHeadWords; i < words.size(); ++i)
        words[i] ^= input.take<std::uint8_t>();
      const auto send = [&](std::size_t from, std::size_t to) {
        const auto part = std::as_bytes(std::span(words).subspan(from, to - from));
        require(part.empty() || theirs.send(Protocol::kLl, part.data(), part.size()));
      };
      require(check.missing() >= 0 && !check.missingText().empty());
      send(0, GroupCalls::kHeadWords);
      send(GroupCalls::kHeadWords, words.size());
      require((check.step() == Progress::kDone) == (round + 1 == ranks));
    }
    return true;
  } catch (const Error& error) {
    require(error.code() == ResultCode::kInvalidUsage && check.missing() < 0);
    return false;
  }
}

}  // namespace xylem
