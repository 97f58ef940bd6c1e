#pragma once
// Payload in the words of NCCL's LL protocol: every 8-byte word holds 4 bytes of payload and the flag of its
// step, and is written and read in one piece. A word with the right flag is valid whatever its neighbours
// are, so nothing here needs an order between words, on any processor.
//
//   packLl(slot, llFlag(step), data, bytes);                                  // the writer
//   done = unpackLl(slot, llFlag(step), out, bytes, done);                    // the reader, again and again
//   if (done == llWords(bytes)) ...

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xylem {

constexpr std::size_t kLlWordBytes = 8;
constexpr std::size_t kLlPayloadBytes = 4;

// After so many steps the writer clears its words, because what a step leaves there lies around until another
// writes as far, and flags come again after twice as many.
constexpr std::uint64_t kLlEpoch = std::uint64_t{1} << 31;

// Words that were cleared at a multiple of kLlEpoch, or never used before the first one, carry the flag of
// the step before it: see llCleared.
constexpr std::uint32_t llFlag(std::uint64_t step) { return static_cast<std::uint32_t>(step + 1); }
constexpr std::uint64_t llCleared(std::uint64_t epochStart) {
  return std::uint64_t{static_cast<std::uint32_t>(epochStart)} << 32;
}

// A step without payload is still one word.
constexpr std::size_t llWords(std::size_t bytes) {
  return bytes == 0 ? 1 : (bytes + kLlPayloadBytes - 1) / kLlPayloadBytes;
}

inline std::atomic_ref<std::uint64_t> llWord(const std::byte* slot, std::size_t index) {
  // An atomic_ref of something const comes with C++26 only.
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

// Goes on after `done` words, as far as they are there; returns how many words are now done.
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

}  // namespace xylem
