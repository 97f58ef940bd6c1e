#pragma once
// Payload in the lines of NCCL's LL128 protocol: 120 bytes of payload and an 8-byte flag, which is stored
// last and read first. Less overhead than LL, one store in 128 bytes that orders.
//
//   packLl128(slot, ll128Flag(step), data, bytes);                            // the writer
//   done = unpackLl128(slot, ll128Flag(step), out, bytes, done);              // the reader, again and again
//   if (done == ll128Lines(bytes)) ...

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xylem {

constexpr std::size_t kLl128LineBytes = 128;
constexpr std::size_t kLl128PayloadBytes = 120;

// 64 bits do not come again; 0 is what unused memory holds.
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

// Goes on after `done` lines, as far as they are there; returns how many lines are now done.
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

}  // namespace xylem
