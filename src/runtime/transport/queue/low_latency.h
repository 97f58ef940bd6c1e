#pragma once
// The formats in which NCCL's low-latency protocols put payload and flags into one piece of memory, so that
// a reader knows what has arrived without reading a counter.
//
//   LL      8-byte words: 4 bytes of payload and a 4-byte flag, written and read with one access. A word with
//           the flag of its step is valid whatever the words beside it hold, so words need no order.
//   LL128   lines of 128 bytes: 120 bytes of payload and an 8-byte flag, which is stored last and read first.
//           Less overhead than LL, but one ordered store in 128 bytes.
//
//   packLl(slot, llFlag(step), data, bytes);                       // the writer
//   done = unpackLl(slot, llFlag(step), out, bytes, done);         // the reader, until
//   if (done == llWords(bytes)) ...                                // all words have arrived
//
// The functions of LL128 have the same parameters.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

constexpr std::size_t kLlWordBytes = 8;
constexpr std::size_t kLlPayloadBytes = 4;

// A word keeps the flag of an old step until a later step is long enough to overwrite it, and 32-bit flags
// repeat every 2^32 steps. To keep an old flag from being taken for a new one, the writer clears all words
// every 2^31 steps: those of each slot before the slot's first step of the epoch, whatever protocol that step
// has. The slot is free then, so no rank has to wait for another one to read more than usual.
constexpr std::uint64_t kLlEpoch = std::uint64_t{1} << 31;

// The first step from `step` on whose slot has to be cleared.
constexpr std::uint64_t llClearsAt(std::uint64_t step) {
  const std::uint64_t epochStart = step / kLlEpoch * kLlEpoch;
  return epochStart > 0 && step - epochStart < kQueueSteps ? step : epochStart + kLlEpoch;
}

// The flag of step s is s + 1. Words that were cleared for a step carry the flag of the step before it, whose words
// are in another slot, and unused memory (zero) that of the step before step 0.
constexpr std::uint32_t llFlag(std::uint64_t step) { return static_cast<std::uint32_t>(step + 1); }
constexpr std::uint64_t llCleared(std::uint64_t step) {
  return std::uint64_t{static_cast<std::uint32_t>(step)} << 32;
}

// A step without payload is still one word.
constexpr std::size_t llWords(std::size_t bytes) {
  return bytes == 0 ? 1 : (bytes + kLlPayloadBytes - 1) / kLlPayloadBytes;
}
// How many bytes of a step's words the ends of a queue fetch ahead.
constexpr std::size_t fetchedLlBytes(std::size_t bytes) {
  return std::min(llWords(bytes) * kLlWordBytes, std::size_t{512});
}

inline std::atomic_ref<std::uint64_t> llWord(const std::byte* slot, std::size_t index) {
  // std::atomic_ref of a const type needs C++26.
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(slot) + index * kLlWordBytes);
  return std::atomic_ref<std::uint64_t>(*word);
}

inline void packLl(std::byte* slot, std::uint32_t flag, const std::byte* data, std::size_t bytes) {
  const std::uint64_t high = std::uint64_t{flag} << 32;
  const std::size_t whole = bytes / kLlPayloadBytes;
  for (std::size_t i = 0; i < whole; ++i) {
    std::uint32_t payload;
    std::memcpy(&payload, data + i * kLlPayloadBytes, sizeof payload);
    llWord(slot, i).store(high | payload, std::memory_order_relaxed);
  }
  if (whole == llWords(bytes)) return;
  std::uint32_t payload = 0;
  for (std::size_t i = whole * kLlPayloadBytes; i < bytes; ++i)
    payload |= std::to_integer<std::uint32_t>(data[i]) << (8 * (i % kLlPayloadBytes));
  llWord(slot, whole).store(high | payload, std::memory_order_relaxed);
}

// Unpacks the words that have arrived, starting after the first `done` ones. Returns the new number of
// unpacked words.
inline std::size_t unpackLl(const std::byte* slot, std::uint32_t flag, std::byte* out, std::size_t bytes,
                            std::size_t done) {
  const std::size_t whole = bytes / kLlPayloadBytes;
  for (; done < whole; ++done) {
    const std::uint64_t word = llWord(slot, done).load(std::memory_order_relaxed);
    if (static_cast<std::uint32_t>(word >> 32) != flag) return done;
    const auto payload = static_cast<std::uint32_t>(word);
    std::memcpy(out + done * kLlPayloadBytes, &payload, sizeof payload);
  }
  if (done == llWords(bytes)) return done;
  const std::uint64_t word = llWord(slot, done).load(std::memory_order_relaxed);
  if (static_cast<std::uint32_t>(word >> 32) != flag) return done;
  for (std::size_t i = whole * kLlPayloadBytes; i < bytes; ++i)
    out[i] = static_cast<std::byte>(word >> (8 * (i % kLlPayloadBytes)));
  return done + 1;
}

constexpr std::size_t kLl128LineBytes = 128;
constexpr std::size_t kLl128PayloadBytes = 120;

// 64-bit flags never repeat, so lines need no clearing. No step has the flag 0, which unused memory holds.
constexpr std::uint64_t ll128Flag(std::uint64_t step) { return step + 1; }

// A step without payload is still one line.
constexpr std::size_t ll128Lines(std::size_t bytes) {
  return bytes == 0 ? 1 : (bytes + kLl128PayloadBytes - 1) / kLl128PayloadBytes;
}

inline std::atomic_ref<std::uint64_t> ll128FlagOf(const std::byte* line) {
  auto* flag = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(line) + kLl128PayloadBytes);
  return std::atomic_ref<std::uint64_t>(*flag);
}

inline void packLl128(std::byte* slot, std::uint64_t flag, const std::byte* data, std::size_t bytes) {
  for (; bytes >= kLl128PayloadBytes; bytes -= kLl128PayloadBytes) {
    std::memcpy(slot, data, kLl128PayloadBytes);
    ll128FlagOf(slot).store(flag, std::memory_order_release);
    data += kLl128PayloadBytes;
    slot += kLl128LineBytes;
    if (bytes == kLl128PayloadBytes) return;
  }
  if (bytes > 0) std::memcpy(slot, data, bytes);
  ll128FlagOf(slot).store(flag, std::memory_order_release);
}

// Unpacks the lines that have arrived, starting after the first `done` ones. Returns the new number of
// unpacked lines.
inline std::size_t unpackLl128(const std::byte* slot, std::uint64_t flag, std::byte* out, std::size_t bytes,
                               std::size_t done) {
  const std::size_t lines = ll128Lines(bytes);
  for (; done < lines; ++done) {
    const std::byte* line = slot + done * kLl128LineBytes;
    if (ll128FlagOf(line).load(std::memory_order_acquire) != flag) break;
    const std::size_t offset = done * kLl128PayloadBytes;
    if (bytes - offset >= kLl128PayloadBytes)
      std::memcpy(out + offset, line, kLl128PayloadBytes);
    else if (bytes > offset)
      std::memcpy(out + offset, line, bytes - offset);
  }
  return done;
}

// Memory that holds a step's payload in one piece while the queue holds it in words or lines, or in the
// memory of another process. Allocated on first use: most queues never need it.
//
//   std::byte* piece = staging.get(bytes);
class Staging {
 public:
  // All calls must ask for the same number of bytes.
  std::byte* get(std::size_t bytes) {
    if (!memory_) memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{128};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace xylem::transport
