#pragma once
// An input of the fuzzer of checked mode: this rank's calls, and the words that the rank before it in the
// ring passes on. For any words there is a verdict.
//
//   feedCallCheck(bytes);   // true if all call the same

#include <memory>
#include <new>
#include <vector>

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/comm/issue/call_check.h"

namespace xylem {

// A queue for words.
class FuzzedWords {
 public:
  FuzzedWords()
      : memory_(
            static_cast<std::byte*>(::operator new (transport::queueBytes(kSteps), std::align_val_t{4096}))) {
    std::memset(memory_.get(), 0, transport::queueBytes(kSteps));
    new (memory_.get()) transport::QueueControl{};
  }
  transport::QueueMemory queue() const { return transport::queueIn(memory_.get(), kSteps); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
  };
  static inline const transport::StepBytes kSteps = transport::stepBytesFor(4096);
  const std::unique_ptr<std::byte, Free> memory_;
};

// The queue, reset for each input.
inline transport::QueueMemory fuzzedWords(FuzzedWords& words) {
  const transport::QueueMemory queue = words.queue();
  transport::startAt(queue, 0);
  return queue;
}

inline comm::CallSignature fuzzedCall(Input& input) {
  const auto words = input.take<comm::CallWords>();
  return comm::unpackCall(words).value_or(comm::CallSignature{});
}

inline bool feedCallCheck(std::string_view bytes) {
  static FuzzedWords out, in;
  Input input(bytes);
  const int ranks = 2 + input.take<std::uint8_t>() % 3;
  const int rank = input.take<std::uint8_t>() % ranks;
  const transport::QueueMemory toNext = fuzzedWords(out), fromPrevious = fuzzedWords(in);
  transport::SendEnd next(1, toNext, nullptr);
  transport::SendEnd theirs(1, fromPrevious, nullptr);
  transport::RecvEnd previous(1, fromPrevious, nullptr);
  comm::CallCheck check(rank, ranks, next, previous);
  std::vector<comm::CallSignature> calls(input.take<std::uint8_t>() % (comm::GroupCalls::kMaxReported + 3));
  for (comm::CallSignature& call : calls) call = fuzzedCall(input);
  const bool echo = (input.take<std::uint8_t>() & 1) != 0;
  check.begin(calls);
  try {
    require(check.step() != device::Progress::kDone);
    for (int round = 1; round < ranks; ++round) {
      std::vector<std::uint64_t> words = comm::GroupCalls(calls).words();
      if (!echo) {
        words.resize(comm::GroupCalls::kHeadWords);
        for (std::uint64_t& word : words) word = input.take<std::uint64_t>();
        words.resize(words.size() + comm::GroupCalls::wordsAfter(words));
      }
      // Let all other ranks call the same, except where the input changes bits.
      for (std::size_t i = comm::GroupCalls::kHeadWords; i < words.size(); ++i)
        words[i] ^= input.take<std::uint8_t>();
      const auto send = [&](std::size_t from, std::size_t to) {
        const auto part = std::as_bytes(std::span(words).subspan(from, to - from));
        require(part.empty() || theirs.send(Protocol::kLl, part.data(), part.size()));
      };
      require(check.missing() >= 0 && !check.missingText().empty());
      send(0, comm::GroupCalls::kHeadWords);
      send(comm::GroupCalls::kHeadWords, words.size());
      require((check.step() == device::Progress::kDone) == (round + 1 == ranks));
    }
    return true;
  } catch (const Error& error) {
    require(error.code() == ResultCode::kInvalidUsage && check.missing() < 0);
    return false;
  }
}

}  // namespace xylem
